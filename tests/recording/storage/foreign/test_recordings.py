"""Recordings of the real Aeron Archive: several segments, purged, extended, truncated, deleted and live ones."""

import itertools

import pytest
from archive_scenario import FEW, KEPT, MANY, SEGMENT_LENGTH
from messages import message

import aeron_core
from aeron_core.errors import ConfigurationError, CorruptRecordingError, DataLossError, RecordingNotFoundError
from aeron_core.recording import Archive
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.replay import Replay, replay_channel
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.retention.states import RecordingState, state_of
from aeron_core.recording.storage.foreign.catalog import CatalogReader
from aeron_core.testing import DriverPair

STOPPED, PURGED, EXTENDED, TRUNCATED, DELETED, LIVE = range(6)
#: A time after the last sign of life of the Archive, in nanoseconds since the epoch.
LATER_NS = 2_000_000_000_000_000_000


def payloads(recording):
    return [found.payload for found in messages(recording, recording.start_position, recording.position)]


def sent(*counts):
    return [message(index) for count in counts for index in range(count)]


@pytest.mark.parametrize(
    ("recording_id", "expected"),
    [(STOPPED, sent(MANY)), (EXTENDED, sent(FEW, FEW)), (TRUNCATED, sent(KEPT)), (LIVE, sent(FEW))],
    ids=["stopped", "extended by another session", "truncated", "live"],
)
def test_a_recording_has_the_messages_that_were_sent(folder, recording_id, expected):
    assert payloads(Archive.open(folder).recording(recording_id)) == expected


def test_the_catalogue_is_not_read_for_each_message(folder, monkeypatch):
    recording = Archive.open(folder).recording(STOPPED)
    end, reads, entry = recording.position, [], CatalogReader.entry

    def counted(self, known):
        reads.append(known)
        return entry(self, known)

    monkeypatch.setattr(CatalogReader, "entry", counted)

    assert len(list(messages(recording, 0, end))) == MANY
    assert len(reads) < MANY / 10


def test_an_extended_recording_is_replayed_as_one_stream(folder, tmp_path):
    recording = Archive.open(folder).recording(EXTENDED)
    end, channel = recording.position, "aeron:udp?endpoint=10.0.0.2:20121"
    received = []
    with DriverPair(tmp_path / "drivers") as pair:
        subscription = pair.add_subscription(channel, 102)
        replayed = replay_channel(channel, recording.descriptor, 0, keeps_session=True)
        publication = pair.add_exclusive_publication(str(replayed), 102)
        pair.run_until(lambda: publication.is_connected and subscription.images)
        replay = Replay(recording, publication, 0, end)
        assembler = aeron_core.FragmentAssembler(lambda buffer, header: received.append(bytes(buffer)))

        def is_replayed():
            replay.do_work()
            subscription.poll(assembler, 1000)
            return replay.is_done and subscription.images[0].position == end

        pair.run_until(is_replayed)

    assert received == sent(FEW, FEW)


def test_a_purged_recording_begins_with_its_first_segment(folder):
    recording = Archive.open(folder).recording(PURGED)

    assert recording.start_position == SEGMENT_LENGTH
    found = payloads(recording)
    assert 0 < len(found) < MANY
    assert found == sent(MANY)[-len(found) :]
    with pytest.raises(DataLossError, match="was purged"):
        next(recording.read(0, 32))


def test_a_deleted_recording_is_not_listed(folder):
    archive = Archive.open(folder)

    assert [recording.recording_id for recording in archive.recordings()] == [0, 1, 2, 3, 5]
    with pytest.raises(RecordingNotFoundError, match="recordings: 0, 1, 2, 3, 5"):
        archive.recording(DELETED)


def test_the_catalogue_describes_a_recording(folder):
    descriptor = Archive.open(folder).recording(STOPPED).descriptor

    assert descriptor.channel == f"aeron:ipc?session-id={descriptor.session_id}"
    assert (descriptor.stream_id, descriptor.source_identity) == (100, "aeron:ipc")
    assert (descriptor.term_length, descriptor.segment_length) == (SEGMENT_LENGTH, SEGMENT_LENGTH)
    assert descriptor.start_time_ns < descriptor.stop_time_ns < LATER_NS


def test_verification_reads_all_frames_and_finds_no_fault(folder):
    archive = Archive.open(folder)

    for recording in archive.recordings():
        result = verify(archive.store, recording, LATER_NS, lambda _: None)
        assert (result.faults, result.end - result.begin) == ([], recording.size())
        assert result.frame_count >= KEPT


def test_a_changed_frame_is_a_fault_with_its_position(folder):
    with (folder / "0-0.rec").open("r+b") as file:
        file.seek(16)  # the stream id of the first frame
        file.write(b"\xff")
    archive = Archive.open(folder)
    recording = archive.recording(STOPPED)

    (fault,) = verify(archive.store, recording, LATER_NS, lambda _: None).faults

    assert str(fault).startswith("recording 0 position 0: 0-0.rec: stream id=")
    with pytest.raises(CorruptRecordingError, match="position 0: stream id="):
        payloads(recording)


def test_a_live_recording_of_a_dead_archive_is_abandoned(folder):
    recordings = {recording.recording_id: recording for recording in Archive.open(folder).recordings()}

    assert state_of(recordings[LIVE], LATER_NS) is RecordingState.ABANDONED
    assert state_of(recordings[STOPPED], LATER_NS) is RecordingState.STOPPED


def test_the_last_frame_of_a_killed_archive_is_left_out_if_a_page_of_it_was_not_written(folder):
    recording = Archive.open(folder).recording(LIVE)
    ends = [found.position for found in messages(recording, 0, recording.position)]
    # A message that begins in one page and ends in the next.
    begin = next(begin for begin, end in itertools.pairwise(ends) if begin // 4096 < (end - 32) // 4096)
    page = (begin // 4096 + 1) * 4096
    with (folder / "5-0.rec").open("r+b") as file:
        file.truncate(page)
        file.truncate(SEGMENT_LENGTH)

    assert Archive.open(folder).recording(LIVE).position == begin


def test_the_last_frame_is_left_out_while_an_archive_runs_whose_counters_cannot_be_read(folder, monkeypatch):
    recording = Archive.open(folder).recording(LIVE)
    ends = [found.position for found in messages(recording, 0, recording.position)]
    with (folder / "archive-mark.dat").open("r+b") as file:
        file.seek(16)  # the time of the last sign of life
        file.write((LATER_NS // 1_000_000).to_bytes(8, "little"))

    assert Archive.open(folder).recording(LIVE).position == ends[-2]


def test_a_link_names_the_folder_of_the_mark_file(folder, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    (folder / "archive-mark.dat").rename(marks / "archive-mark.dat")
    assert Archive.open(folder).recording(LIVE).heartbeat_ms == 0

    (folder / "archive-mark.lnk").write_text(str(marks))

    assert Archive.open(folder).recording(LIVE).heartbeat_ms > 0


def test_the_times_of_a_recording_select_its_beginning_or_its_end(folder):
    recording = Archive.open(folder).recording(STOPPED)
    descriptor = recording.descriptor

    assert recording.position_at(descriptor.start_time_ns) == 0
    assert recording.position_at(descriptor.stop_time_ns + 1) == recording.position
    assert recording.time_behind(64) == descriptor.start_time_ns


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.write("x", b""),
        lambda store: store.delete("0/0-0.rec"),
        lambda store: store.delete_folder("0"),
        lambda store: store.upload("x", "x"),
    ],
    ids=["write", "delete", "delete a folder", "upload"],
)
def test_nothing_can_be_changed(folder, change):
    before = sorted(path.name for path in folder.iterdir())

    with pytest.raises(ConfigurationError, match="belongs to Aeron Archive"):
        change(Archive.open(folder).store)

    assert sorted(path.name for path in folder.iterdir()) == before


def test_nothing_can_be_recorded_into_it(folder):
    with pytest.raises(ConfigurationError, match="must be an archive of recordings, or empty"):
        Archive.create(folder)
