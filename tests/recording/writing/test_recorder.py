"""Recorder on a simulated network and a manual clock."""

import errno
import json
import os
from pathlib import Path

import pytest

from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import (
    ArchiveInUseError,
    ClientError,
    ConfigurationError,
    ProtocolError,
    RecordingError,
)
from aeron_core.recording import Archive
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.writing.continuation import stop_interrupted_recordings
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recorder import Recorder, RecorderParams
from aeron_core.testing import DriverPair, SimulatedLink
from aeron_core.testing.pair import MS, S
from aeron_core.testing.recordings import RecordingUnderTest, frame_at

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM_ID = 1001
BLOCK = Durability(DurabilityPolicy.BLOCK)


class RecordedPair(DriverPair):
    """A publisher, and a recorder at the other driver."""

    def __init__(self, directory, durability=BLOCK, **arguments):
        super().__init__(directory / "drivers", **arguments)
        self.durability = durability
        self.archive = Archive.create(directory / "archive")
        self.errors = []
        self.recorder = None
        self.start_recorder()

    def start_recorder(self):
        self.subscription = self.result(self.subscriber.add_subscription_async(CHANNEL, STREAM_ID))
        self.recorder = Recorder(
            self.subscriber,
            self.archive,
            [self.subscription],
            RecorderParams(
                on_error=self.errors.append,
                segment_length=128 * 1024,
                durability=self.durability,
                clock=self.clock.nano_time,
            ),
        )

    def stop_recorder(self):
        self.recorder.on_close()
        self.recorder = None
        self.subscription.close()

    def kill_recorder(self):
        """Simulate a crash of its process: no heartbeats, closed files."""
        self.receiver.abandon(self.subscriber)
        for stream in self.recorder.streams:
            stream.writer.abandon()
        self.recorder._stack.close()  # as the kernel releases the lock of a process
        self.recorder = None
        self.subscriber = self.receiver.connect()

    def leave(self):
        """Stop the recordings and leave without informing the driver, as the command does at its end."""
        self.recorder.on_close(leaves=True)
        self.recorder = None
        self.receiver.abandon(self.subscriber)
        self.subscriber.leave()
        self.subscriber = self.receiver.connect()

    def step(self):
        return super().step() + (self.recorder.do_work() if self.recorder else 0)

    def connected_publication(self):
        publication = self.add_exclusive_publication(CHANNEL, STREAM_ID)
        self.run_until(lambda: publication.is_connected and self.archive.recordings())
        return publication

    def offer(self, publication, *messages):
        for message in messages:
            # A recorder that died blocks the stream until its client's liveness timeout.
            self.run_until(lambda message=message: publication.offer(message) > 0, within_ns=30 * S)

    def run_until_recorded(self, publication, recording_id=0):
        recording = self.archive.recording(recording_id)
        self.run_until(lambda: recording.position == publication.position, within_ns=60 * S)

    def recorded(self, recording_id=0):
        """Return the payloads of all frames of a recording."""
        recording = self.archive.recording(recording_id)
        data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
        payloads, at = [], 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 4], "little")
            if data[at + 6] == 1:
                payloads.append(data[at + 32 : at + length])
            at += (length + 31) // 32 * 32
        return payloads

    @property
    def image(self):
        return self.recorder.streams[0].image


@pytest.fixture
def make_pair(tmp_path):
    pairs = []

    def make(**arguments):
        pairs.append(RecordedPair(tmp_path, **arguments))
        return pairs[-1]

    yield make
    for pair in pairs:
        if pair.recorder:
            pair.recorder.on_close()
        pair.close()


@pytest.fixture
def pair(make_pair):
    return make_pair()


def messages(count, length=200):
    return [index.to_bytes(4, "little") + bytes(length - 4) for index in range(count)]


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


def test_a_restarted_recorder_continues_under_the_same_id(pair):
    publication = pair.connected_publication()
    sent = messages(300)
    pair.offer(publication, *sent[:100])
    pair.run_until_recorded(publication)

    pair.stop_recorder()
    pair.start_recorder()
    pair.run_until(lambda: pair.recorder.streams)
    pair.offer(publication, *sent[100:])
    pair.run_until_recorded(publication)

    assert [recording.recording_id for recording in pair.archive.recordings()] == [0]
    assert pair.recorded() == sent


@pytest.mark.parametrize("seed", range(5))
def test_a_killed_recorder_continues_without_loss_or_duplicates(make_pair, seed):
    pair = make_pair(seed=seed, link=SimulatedLink(loss=0.05))
    publication = pair.connected_publication()
    sent = messages(3000)

    for begin in range(0, 3000, 1000):
        pair.offer(publication, *sent[begin : begin + 1000])
        pair.kill_recorder()
        pair.start_recorder()
    pair.run_until_recorded(publication)

    assert pair.recorded() == sent
    assert len(pair.archive.recordings()) == 1


def damage_while_no_recorder_runs(pair, damage):
    """Damage a recording of 200 messages, and return 100 messages that were sent after that."""
    publication = pair.connected_publication()
    sent = messages(300)
    pair.offer(publication, *sent[:200])
    pair.run_until_recorded(publication)
    pair.kill_recorder()
    damage(Path(pair.archive.uri) / "0")
    pair.start_recorder()
    pair.offer(publication, *sent[200:])
    pair.run_until_recorded(publication, len(pair.archive.recordings()) - 1)
    return sent[200:]


def flip_the_last_byte(folder):
    data = (folder / "0-0.rec").read_bytes()
    (folder / "0-0.rec").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_a_recording_continues_behind_damage_which_is_reported(pair):
    later = damage_while_no_recorder_runs(pair, flip_the_last_byte)

    (error,) = pair.errors
    assert "do not have the checksums of 0-0.idx; they are kept" in str(error)
    assert pair.recorded()[200:] == later
    result = verify(pair.archive.store, pair.archive.recording(0), 2**62, lambda length: None)
    assert len(result.faults) == 1


def test_a_stream_whose_recording_cannot_be_continued_is_recorded_anew(pair):
    damage_while_no_recorder_runs(pair, lambda folder: (folder / "0-0.idx").unlink())

    (error,) = pair.errors
    assert "0-0.idx: is missing or damaged" in str(error)
    first, second = pair.archive.recordings()
    assert (first.is_live, second.is_live) == (False, True)


def test_messages_sent_while_no_recorder_ran_are_read_from_the_log(pair):
    publication = pair.connected_publication()
    sent = messages(200)
    pair.offer(publication, *sent[:100])
    pair.run_until_recorded(publication)

    pair.kill_recorder()
    pair.offer(publication, *sent[100:])
    pair.run_for(S)
    pair.start_recorder()
    pair.run_until_recorded(publication)

    assert pair.recorded() == sent


def test_messages_sent_after_a_recorder_left_are_read_from_the_log(pair):
    publication = pair.connected_publication()
    sent = messages(200)
    pair.offer(publication, *sent[:100])
    pair.run_until_recorded(publication)

    pair.leave()
    pair.offer(publication, *sent[100:])
    pair.run_for(S)
    assert publication.is_connected
    assert not pair.archive.recording(0).is_live
    pair.start_recorder()
    pair.run_until_recorded(publication)

    assert pair.recorded() == sent


def test_a_recorder_that_left_blocks_its_stream_until_the_liveness_timeout_of_its_client(pair):
    publication = pair.connected_publication()

    pair.leave()
    pair.run_for(9 * S)
    assert publication.is_connected
    pair.run_for(16 * S)

    assert not publication.is_connected


@pytest.mark.parametrize("end", ["kill_recorder", "leave"])
def test_a_successor_unblocks_the_stream_before_the_liveness_timeout(pair, end):
    publication = pair.connected_publication()
    sent = messages(1000)
    pair.offer(publication, *sent[:100])
    pair.run_until_recorded(publication)
    getattr(pair, end)()
    held = 100
    while publication.offer(sent[held]) > 0:
        held += 1
    pair.run_for(100 * MS)

    pair.start_recorder()
    waited_ns = pair.run_until(lambda: publication.offer(sent[held]) > 0)

    assert waited_ns < 3 * S
    pair.offer(publication, *sent[held + 1 :])
    pair.run_until_recorded(publication)
    assert pair.recorded() == sent
    assert len(pair.archive.recordings()) == 1


def test_a_successor_retries_until_the_driver_takes_the_command_that_closes_its_predecessor(
    pair, monkeypatch
):
    predecessor = pair.subscriber.client_id
    pair.kill_recorder()
    pair.start_recorder()
    retired = []

    def fail(client_id):
        raise ClientError("the driver's command ring is full")

    with monkeypatch.context() as patch:
        patch.setattr(pair.subscriber, "retire_client", fail)
        pair.run_for(3 * S)
    monkeypatch.setattr(pair.subscriber, "retire_client", retired.append)
    pair.run_for(3 * S)

    assert retired == [predecessor]
    assert [str(error) for error in pair.errors] == ["the driver's command ring is full"]


def test_a_successor_that_starts_on_a_full_disk_closes_its_predecessor_and_stores_its_id_later(
    pair, monkeypatch
):
    file = pair.archive.store.folder / "recorder.json"
    before = file.read_bytes()
    pair.kill_recorder()

    def fail(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        pair.start_recorder()
        pair.run_for(3 * S)
        assert file.read_bytes() == before
    assert len(pair.receiver.find_counters("client-heartbeat")) == 1
    pair.run_for(3 * S)

    assert json.loads(file.read_text())["client_ids"] == [pair.subscriber.client_id]
    assert [type(error) for error in pair.errors] == [RecordingError]
    assert "recorder.json: No space left on device" in str(pair.errors[0])


def test_a_successor_leaves_the_client_that_it_could_not_close_to_the_next_recorder(pair, monkeypatch):
    predecessor = pair.subscriber.client_id
    pair.kill_recorder()
    pair.start_recorder()

    def fail(client_id):
        raise ClientError("the driver's command ring is full")

    monkeypatch.setattr(pair.subscriber, "retire_client", fail)
    pair.run_for(3 * S)
    pair.stop_recorder()

    left = json.loads((pair.archive.store.folder / "recorder.json").read_text())
    assert left["client_ids"] == [predecessor]


def test_a_client_that_stops_recording_in_order_is_not_closed_by_its_successor(pair):
    client = pair.subscriber
    pair.recorder.on_close()
    pair.recorder = None
    pair.subscriber = pair.receiver.connect()

    pair.start_recorder()
    pair.run_for(5 * S)

    assert not client.is_closed
    assert pair.receiver.find_counters("client-heartbeat")
    assert len(pair.receiver.find_counters("client-heartbeat")) == 2


def test_clients_of_another_driver_are_not_closed(pair):
    other = pair.sender.connect()
    pair.kill_recorder()
    (pair.archive.store.folder / "recorder.json").write_text(
        f'{{"version":1,"driver":"1-1","client_ids":[{pair.subscriber.client_id}]}}'
    )
    client = pair.subscriber

    pair.start_recorder()
    pair.run_for(5 * S)

    assert not client.is_closed
    assert not other.is_closed


@pytest.mark.parametrize(("driver", "is_live"), [("1-1", False), (None, True)])
def test_recordings_of_a_dead_driver_are_stopped_when_the_next_recorder_starts(pair, driver, is_live):
    pair.kill_recorder()
    left = RecordingUnderTest.begin(pair.archive.store.folder)
    left.append(b"a")
    left.writer.append(memoryview(frame_at(64, b"b")), left.now_ns)
    left.writer.abandon()
    driver = driver or pair.subscriber.driver_identity
    (pair.archive.store.folder / "recorder.json").write_text(
        f'{{"version":1,"driver":"{driver}","client_ids":[]}}'
    )

    pair.start_recorder()

    recording = pair.archive.recording(left.recording_id)
    assert recording.is_live is is_live
    assert recording.position == (64 if is_live else 128)


@pytest.mark.parametrize(
    ("heartbeat_ms", "stop_time_ms"), [(1, 1), (2**62, 5000), (-(2**62), 5000), (0, 5000), (5001, 5000)]
)
def test_a_heartbeat_that_cannot_be_true_is_not_the_time_of_a_stop(tmp_path, heartbeat_ms, stop_time_ms):
    left = RecordingUnderTest.begin(tmp_path)
    left.append(b"a")
    left.writer.abandon()
    RecordingMark(open_mapped_file(left.folder / "mark"), left.folder / "mark").beat(heartbeat_ms)
    errors = []

    stop_interrupted_recordings(Archive.open(tmp_path), 5000 * MS, is_same_driver=False, report=errors.append)

    descriptor = Archive.open(tmp_path).recording(left.recording_id).descriptor
    assert descriptor.stop_time_ns == stop_time_ms * MS
    assert errors == []


def test_a_stream_with_a_gap_continues_as_another_recording(pair):
    publication = pair.connected_publication()
    pair.offer(publication, b"a")
    pair.run_until_recorded(publication)
    client = pair.receiver.connect()
    listener = pair.result(client.add_subscription_async(CHANNEL, STREAM_ID))

    pair.kill_recorder()
    pair.run_for(20 * S)
    for message in messages(1000):
        while publication.offer(message) < 0:
            pair.step()
            listener.poll(lambda buffer, header: None, 100)
    pair.start_recorder()
    pair.run_until(lambda: len(pair.archive.recordings()) == 2)
    client.close()
    pair.offer(publication, b"b")
    pair.run_until_recorded(publication, 1)

    assert (pair.recorded(0), pair.recorded(1)[-1]) == ([b"a"], b"b")
    assert pair.archive.recording(0).descriptor.stop_position == 64


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


def test_a_recording_whose_index_cannot_be_read_is_reported_and_stops_no_other(pair):
    publication = pair.connected_publication()
    pair.offer(publication, b"a")
    pair.run_until_recorded(publication)
    pair.kill_recorder()
    index = pair.archive.store.folder / "0" / "0-0.idx"
    index.rename(index.with_name("kept"))
    index.mkdir()

    pair.start_recorder()
    other = pair.add_exclusive_publication(CHANNEL, STREAM_ID)
    pair.run_until(lambda: len(pair.archive.recordings()) == 2 and other.is_connected)
    pair.offer(other, b"b")
    pair.run_until_recorded(other, 1)

    assert [type(error) for error in pair.errors] == [RecordingError]
    index.rmdir()
    index.with_name("kept").rename(index)
    pair.offer(publication, b"c")
    pair.run_until_recorded(publication)
    assert pair.recorded() == [b"a", b"c"]


def test_a_damaged_mark_does_not_keep_a_successor_from_closing_the_client_of_its_predecessor(pair):
    left = RecordingUnderTest.begin(pair.archive.store.folder)
    left.writer.abandon()
    pair.kill_recorder()
    (left.folder / "mark").write_bytes(b"x" * 4096)

    pair.start_recorder()
    pair.run_for(3 * S)

    assert len(pair.receiver.find_counters("client-heartbeat")) == 1
