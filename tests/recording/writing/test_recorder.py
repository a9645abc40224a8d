"""Recorder on a simulated network: recording streams, their ends, counters, and failing disks."""

import errno
import os

import pytest
from recorded_pair import BLOCK, CHANNEL, STREAM_ID, messages

from aeron_core.errors import (
    ArchiveInUseError,
    ClientError,
    ConfigurationError,
    ProtocolError,
    RecordingError,
)
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recorder import Recorder, RecorderParams
from aeron_core.testing import SimulatedLink
from aeron_core.testing.pair import MS, S


def test_published_messages_are_recorded(pair):
    publication = pair.connected_publication()
    sent = messages(2000)

    pair.offer(publication, *sent)
    pair.run_until_recorded(publication)

    assert pair.recorded() == sent
    assert pair.archive.recording(0).descriptor.session_id == publication.session_id
    assert pair.errors == []


def test_network_loss_leaves_no_gap(make_pair):
    pair = make_pair(link=SimulatedLink(loss=0.1), seed=5)
    publication = pair.connected_publication()
    sent = messages(1000)

    pair.offer(publication, *sent)
    pair.run_until_recorded(publication)

    assert pair.recorded() == sent


def test_a_counter_has_the_position_of_the_recording(pair):
    publication = pair.connected_publication()
    pair.offer(publication, b"a" * 100)
    pair.run_until_recorded(publication)
    pair.run_for(10 * MS)

    counter = pair.receiver.find_counter("rec-pos: 0 ")

    assert (counter.type_id, counter.value) == (100, publication.position)
    assert counter.label == f"rec-pos: 0 {publication.session_id} {STREAM_ID} {CHANNEL}"


def test_the_label_of_the_counter_has_the_first_whole_characters_of_a_long_channel(pair):
    pair.stop_recorder()
    channel = f"{CHANNEL}|alias={'é' * 200}"
    subscription = pair.result(pair.subscriber.add_subscription_async(channel, STREAM_ID))
    params = RecorderParams(on_error=pair.errors.append, durability=BLOCK, clock=pair.clock.nano_time)
    pair.recorder = Recorder(pair.subscriber, pair.archive, [subscription], params)
    publication = pair.connected_publication()

    pair.run_until(lambda: pair.receiver.find_counters("rec-pos: 0 "))

    label = pair.receiver.find_counter("rec-pos: 0 ").label
    assert label == f"rec-pos: 0 {publication.session_id} {STREAM_ID} {channel}"[: len(label)]
    assert len(label.encode()) in (379, 380)
    assert pair.errors == []


def test_the_stream_waits_for_the_disk(make_pair, monkeypatch):
    pair = make_pair()
    publication = pair.connected_publication()

    def fail(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        for message in messages(1000):
            publication.offer(message)
            pair.step()
        pair.run_for(100 * MS)

        assert pair.image.position == 0
        assert publication.offer(b"x") < 0
        assert [type(error) for error in pair.errors] == [RecordingError]
        assert "Input/output error" in str(pair.errors[0])

    pair.run_until_recorded(publication)
    assert pair.image.position == publication.position


def test_a_recording_that_cannot_begin_on_a_full_disk_begins_when_space_is_free(make_pair, monkeypatch):
    pair = make_pair()
    publication = pair.add_exclusive_publication(CHANNEL, STREAM_ID)

    def fail(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        pair.run_until(lambda: publication.is_connected)
        publication.offer(b"first")
        pair.run_for(5 * S)

        assert [type(error) for error in pair.errors] == [RecordingError]
        assert "No space left on device" in str(pair.errors[0])
        assert pair.archive.recordings() == []
        assert [path.name for path in pair.archive.store.folder.iterdir() if path.is_dir()] == []

    pair.run_until(pair.archive.recordings)
    (recording,) = pair.archive.recordings()
    pair.run_until_recorded(publication, recording.recording_id)
    assert pair.recorded(recording.recording_id) == [b"first"]


def test_data_that_the_sender_waits_for_is_flushed_before_the_interval(make_pair):
    pair = make_pair(durability=Durability(DurabilityPolicy.INTERVAL, 3600 * S))
    publication = pair.connected_publication()
    sent = messages(4000)

    pair.offer(publication, *sent)

    assert pair.archive.recording(0).position > 0


def test_little_data_is_flushed_after_the_interval(make_pair):
    pair = make_pair(durability=Durability(DurabilityPolicy.INTERVAL, S))
    publication = pair.connected_publication()
    pair.run_for(2 * S)
    pair.offer(publication, b"first")
    pair.run_until_recorded(publication)

    pair.offer(publication, b"second")
    pair.run_for(900 * MS)
    position_before = pair.archive.recording(0).position
    pair.run_for(200 * MS)

    assert (position_before, pair.archive.recording(0).position) == (64, 128)


def test_the_end_of_a_stream_ends_its_recording(pair):
    publication = pair.connected_publication()
    sent = messages(100)
    pair.offer(publication, *sent)

    publication.close()
    pair.run_until(lambda: not pair.archive.recording(0).is_live)

    descriptor = pair.archive.recording(0).descriptor
    assert (descriptor.is_end_of_stream, pair.recorded()) == (True, sent)
    pair.run_until(lambda: not pair.receiver.find_counters("rec-pos"))


def test_another_publication_is_another_recording(pair):
    first = pair.connected_publication()
    second = pair.add_exclusive_publication(CHANNEL, STREAM_ID)
    pair.run_until(lambda: len(pair.archive.recordings()) == 2)
    pair.offer(first, b"first")
    pair.offer(second, b"second")
    by_session = {
        recording.descriptor.session_id: recording.recording_id for recording in pair.archive.recordings()
    }

    for publication, payload in ((first, b"first"), (second, b"second")):
        recording_id = by_session[publication.session_id]
        pair.run_until_recorded(publication, recording_id)
        assert pair.recorded(recording_id) == [payload]


def test_one_stream_on_two_channels_is_recorded_twice_and_independently(pair):
    other = f"{CHANNEL}|alias=other"
    pair.recorder.on_close()
    subscription = pair.result(pair.subscriber.add_subscription_async(other, STREAM_ID))
    pair.recorder = Recorder(
        pair.subscriber,
        pair.archive,
        [pair.subscription, subscription],
        RecorderParams(on_error=pair.errors.append, durability=BLOCK, clock=pair.clock.nano_time),
    )
    publication = pair.add_exclusive_publication(CHANNEL, STREAM_ID)
    pair.run_until(lambda: len(pair.archive.recordings()) == 2)
    sent = messages(1000)

    pair.offer(publication, *sent)

    for recording_id in (0, 1):
        pair.run_until_recorded(publication, recording_id)
        assert pair.recorded(recording_id) == sent


def test_a_stream_that_is_listed_twice_raises(pair):
    pair.recorder.on_close()

    with pytest.raises(ConfigurationError, match="stream 1001: is listed more than once; list it once"):
        Recorder(
            pair.subscriber,
            pair.archive,
            [pair.subscription, pair.subscription],
            RecorderParams(on_error=pair.errors.append),
        )


def test_an_invalid_frame_ends_the_recording_even_if_the_disk_fails(pair, monkeypatch):
    publication = pair.connected_publication()
    pair.offer(publication, b"a")
    pair.run_until_recorded(publication)

    def refuse(block, now_ns):
        raise ProtocolError("no frame")

    def fail(fd):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(pair.recorder.streams[0].writer, "append", refuse)
        patch.setattr(os, "fsync", fail)
        publication.offer(b"b")
        pair.run_for(3 * S)
        assert pair.archive.recording(0).is_live
        assert [type(error) for error in pair.errors] == [ProtocolError, RecordingError]

    pair.run_until(lambda: not pair.archive.recording(0).is_live)
    assert pair.archive.recording(0).position == 64


def test_an_archive_rejects_a_second_recorder(pair):
    with pytest.raises(ArchiveInUseError):
        pair.start_recorder()


def test_a_stream_is_recorded_without_its_counter_if_that_cannot_be_added(pair, monkeypatch):
    def fail(*arguments):
        raise ClientError("the driver's command ring is full")

    monkeypatch.setattr(pair.subscriber, "add_counter_async", fail)
    publication = pair.connected_publication()

    pair.offer(publication, *messages(10))

    pair.run_until_recorded(publication)
    assert [str(error) for error in pair.errors] == ["the driver's command ring is full"]
    pair.stop_recorder()
    assert pair.recorded() == messages(10)
