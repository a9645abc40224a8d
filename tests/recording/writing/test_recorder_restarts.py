"""Recorders that start after another one: their recordings continue, or stop."""

from pathlib import Path

import pytest
from recorded_pair import CHANNEL, STREAM_ID, messages

from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import RecordingError
from aeron_core.recording import Archive
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.retention.purge import purge_recording
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.writing import recorder
from aeron_core.recording.writing.continuation import find_continuation, stop_interrupted_recordings
from aeron_core.testing import SimulatedLink
from aeron_core.testing.pair import MS, S
from aeron_core.testing.recordings import RecordingUnderTest, frame_at


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


def test_a_stream_is_recorded_anew_if_its_recording_is_purged_while_the_recorder_continues_it(
    pair, monkeypatch
):
    publication = pair.connected_publication()
    pair.offer(publication, *messages(100))
    pair.run_until_recorded(publication)
    pair.stop_recorder()

    def find_and_purge(*arguments, **options):
        found = find_continuation(*arguments, **options)
        monkeypatch.undo()
        purge_recording(pair.archive.store, 0, pair.clock.nano_time())  # in another process
        return found

    monkeypatch.setattr(recorder, "find_continuation", find_and_purge)
    pair.start_recorder()
    pair.run_until(lambda: pair.recorder.streams)
    later = messages(300)[100:]
    pair.offer(publication, *later)
    pair.run_until_recorded(publication, 1)

    assert [recording.recording_id for recording in pair.archive.recordings()] == [1]
    assert not (Path(pair.archive.uri) / "0").exists()
    assert pair.errors == []


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


def test_a_frame_that_was_half_written_is_recorded_again_with_a_notice(pair):
    publication = pair.connected_publication()
    sent = messages(20)
    pair.offer(publication, *sent[:10])
    pair.run_until_recorded(publication)
    end = pair.archive.recording(0).position
    pair.kill_recorder()
    with (pair.archive.store.folder / "0" / "0-0.rec").open("ab") as file:
        file.write(bytes(40))
    pair.start_recorder()
    pair.offer(publication, *sent[10:])
    pair.run_until_recorded(publication)

    assert pair.notices == [
        f"recording 0: 0-0.rec: lost 40 bytes at the end, positions {end} to {end + 40}: the recorder ended while it "
        "wrote them; the stream delivers them again"
    ]
    assert (pair.recorded(), pair.errors) == (sent, [])


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
