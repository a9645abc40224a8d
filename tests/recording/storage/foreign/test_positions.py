"""Positions of recordings whose Archive runs, stops or dies meanwhile, and of those with damaged files."""

import struct
import time

import pytest
from archive_scenario import SEGMENT_LENGTH
from packed_archive import entry_offsets, overwrite

from aeron_core.errors import CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording import Archive
from aeron_core.recording.reading import verification
from aeron_core.recording.reading.messages import messages
from aeron_core.recording.reading.verification import verify
from aeron_core.recording.storage.foreign.recorded_positions import RecordedPositions

EXTENDED, LIVE = 2, 5
#: Offsets in an entry of the catalogue.
STATE, STOP_POSITION = 4, 80


@pytest.fixture
def ends(folder):
    """Return the ends of the messages of the live recording."""
    recording = Archive.open(folder).recording(LIVE)
    return [found.position for found in messages(recording, 0, recording.position)]


@pytest.fixture
def running(folder, ends):
    """Let the Archive run after `ends` were read."""
    with (folder / "archive-mark.dat").open("r+b") as file:
        file.seek(16)
        file.write(struct.pack("<q", int(time.time() * 1000) + 3_600_000))


def entry_of_live(folder):
    return entry_offsets(folder)[LIVE]


@pytest.mark.usefixtures("running")
def test_a_recording_that_stops_while_its_counter_is_read_ends_at_its_stop_position(
    folder, ends, monkeypatch
):
    def position_of_freed_counter(self, recording_id):
        overwrite(folder, entry_of_live(folder) + STOP_POSITION, struct.pack("<q", ends[-1]))

    monkeypatch.setattr(RecordedPositions, "position", position_of_freed_counter)

    assert Archive.open(folder).recording(LIVE).position == ends[-1]


@pytest.mark.usefixtures("running")
def test_the_position_does_not_decrease_if_the_counter_disappears(folder, ends, monkeypatch):
    recording = Archive.open(folder).recording(LIVE)
    monkeypatch.setattr(RecordedPositions, "position", lambda self, recording_id: ends[-1])
    assert recording.position == ends[-1]

    monkeypatch.setattr(RecordedPositions, "position", lambda self, recording_id: None)

    assert recording.position == ends[-1]
    assert Archive.open(folder).recording(LIVE).position == ends[-2]


def test_the_position_decreases_if_the_archive_truncates_the_recording(folder, ends):
    recording = Archive.open(folder).recording(LIVE)
    assert recording.position == ends[-1]

    overwrite(folder, entry_of_live(folder) + STOP_POSITION, struct.pack("<q", ends[10]))

    assert recording.position == ends[10]


@pytest.mark.usefixtures("running")
def test_a_range_that_another_process_selected_by_the_counter_is_read_without_it(folder, ends):
    recording = Archive.open(folder).recording(LIVE)

    found = list(messages(recording, ends[-2], ends[-1]))

    assert [one.position for one in found] == [ends[-1]]


def test_zeros_before_the_stop_position_are_damage(folder):
    archive = Archive.open(folder)
    stop = archive.recording(EXTENDED).position
    base = SEGMENT_LENGTH
    with (folder / f"{EXTENDED}-{base}.rec").open("r+b") as file:
        file.truncate(8192)
        file.truncate(SEGMENT_LENGTH)
    recording = Archive.open(folder).recording(EXTENDED)

    assert recording.position == stop
    (fault,) = verify(archive.store, recording, time.time_ns(), lambda _: None).faults
    assert "no frame, but zeros" in str(fault)
    with pytest.raises(CorruptRecordingError, match="no frame, but zeros"):
        list(messages(recording, 0, stop))


def test_a_missing_last_file_does_not_hide_what_was_recorded(folder):
    archive = Archive.open(folder)
    stop = archive.recording(EXTENDED).position
    (folder / f"{EXTENDED}-{SEGMENT_LENGTH}.rec").unlink()
    recording = Archive.open(folder).recording(EXTENDED)

    assert recording.position == stop
    (fault,) = verify(archive.store, recording, time.time_ns(), lambda _: None).faults
    assert f"{EXTENDED}-{SEGMENT_LENGTH}.rec: is missing" in str(fault)


def test_a_recording_that_is_deleted_during_a_scan_does_not_exist(folder, monkeypatch):
    recording = Archive.open(folder).recording(LIVE)
    segments = recording.segments()

    def delete(self):
        overwrite(folder, entry_of_live(folder) + STATE, struct.pack("<i", 2))
        (folder / f"{LIVE}-0.rec").unlink(missing_ok=True)
        return segments

    monkeypatch.setattr(type(recording), "segments", delete)

    with pytest.raises(RecordingNotFoundError, match=r"recording 5 .* was deleted"):
        _ = recording.position


@pytest.mark.parametrize("position", ["9" * 30, str(1 << 62), "64"])
def test_files_at_positions_where_no_segment_begins_are_not_read(folder, ends, position):
    (folder / f"{LIVE}-{position}.rec").write_bytes(bytes(SEGMENT_LENGTH))
    recording = Archive.open(folder).recording(LIVE)

    assert recording.segments() == [0]
    assert recording.position == ends[-1]


@pytest.mark.parametrize("value", [1 << 62, 33, -64])
def test_a_counter_with_an_impossible_position_is_not_used(folder, ends, monkeypatch, value):
    monkeypatch.setattr(RecordedPositions, "position", lambda self, recording_id: value)

    assert Archive.open(folder).recording(LIVE).position == ends[-1]


def test_a_file_that_the_archive_truncates_during_a_verification_is_not_mapped(folder, monkeypatch):
    archive = Archive.open(folder)
    recording = archive.recording(EXTENDED)
    _ = recording.position
    read = archive.store.read

    def truncate(name, offset=0, length=-1):
        if name.endswith(f"-{SEGMENT_LENGTH}.rec"):
            overwrite(
                folder, entry_offsets(folder)[EXTENDED] + STOP_POSITION, struct.pack("<q", SEGMENT_LENGTH)
            )
            with (folder / f"{EXTENDED}-{SEGMENT_LENGTH}.rec").open("r+b") as file:
                file.truncate(0)
                file.truncate(SEGMENT_LENGTH)
        return read(name, offset, length)

    monkeypatch.setattr(archive.store, "read", truncate)

    with pytest.raises(CorruptRecordingError, match="was truncated concurrently; verify the recording again"):
        verify(archive.store, recording, time.time_ns(), lambda _: None)


def test_frames_across_the_chunks_of_a_verification_are_valid(folder, monkeypatch):
    monkeypatch.setattr(verification, "CHUNK_LENGTH", 4096)
    archive = Archive.open(folder)
    recording = archive.recording(EXTENDED)

    result = verify(archive.store, recording, time.time_ns(), lambda _: None)

    assert (result.faults, result.end) == ([], recording.position)
