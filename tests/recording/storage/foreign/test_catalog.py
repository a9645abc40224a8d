"""Damaged catalogues: what can be read is read, and what cannot is named with its offset."""

import struct

import pytest
from packed_archive import entry_offsets, overwrite

from aeron_core.errors import CorruptRecordingError, RecordingNotFoundError
from aeron_core.recording import Archive
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.foreign import catalog
from aeron_core.recording.storage.foreign.catalog import CatalogReader


def ids(archive):
    return [recording.recording_id for recording in archive.recordings()]


def test_a_sound_catalogue_has_no_faults(folder):
    assert Archive.open(folder).faults() == []


@pytest.mark.parametrize("length", [4, -1, 1 << 30, 65_536])
def test_an_impossible_length_hides_the_entries_from_there_on(folder, length):
    offset = entry_offsets(folder)[2]
    overwrite(folder, offset, struct.pack("<i", length))
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1]
    (fault,) = archive.faults()
    assert f"archive.catalog offset {offset}: an entry of {length} bytes: must be from 92 to" in str(fault)


def test_an_entry_that_is_longer_than_any_of_an_archive_is_not_read(folder):
    offset = entry_offsets(folder)[2]
    overwrite(folder, offset, (1 << 30).to_bytes(4, "little"))
    with (folder / "archive.catalog").open("r+b") as file:
        file.truncate((1 << 31) - 1)
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1]
    (fault,) = archive.faults()
    assert "an entry of 1073741824 bytes: must be from 92 to 1048544" in str(fault)


def test_a_catalogue_with_too_many_entries_is_read_up_to_a_limit(folder, monkeypatch):
    monkeypatch.setattr(catalog, "_MOST_ENTRIES", 2)
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1]
    (fault,) = archive.faults()
    assert f"offset {entry_offsets(folder)[2]}: has more than 2 entries; recordings after it" in str(fault)


def test_a_catalogue_that_is_truncated_during_a_read_ends_there(folder, monkeypatch):
    archive, size = Archive.open(folder), (folder / "archive.catalog").stat().st_size
    overwritten = entry_offsets(folder)[2] + 40
    with (folder / "archive.catalog").open("r+b") as file:
        file.truncate(overwritten)
    monkeypatch.setattr(archive.store, "size", lambda name: size)

    assert ids(archive) == [0, 1]


def test_entries_that_did_not_change_are_parsed_once(folder):
    reader = CatalogReader(LocalStore(folder))
    before, _ = reader.entries()
    overwrite(folder, entry_offsets(folder)[2] + 32 + 24, bytes(8))

    after, _ = reader.entries()

    assert [one is other for one, other in zip(before, after, strict=True)] == [True] * 2 + [False] + [
        True
    ] * 3
    assert reader.entry(before[0]) is before[0]
    assert reader.entry(before[2]).start_time_ms == 0


def test_an_entry_with_an_impossible_text_is_a_fault_of_its_own(folder):
    offset = entry_offsets(folder)[2]
    overwrite(folder, offset + 32 + 80, b"\xff\xff\xff\x7f")
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1, 3, 5]
    (fault,) = archive.faults()
    assert f"offset {offset}: the entry of recording 2 has texts that are longer" in str(fault)


@pytest.mark.parametrize(
    ("offset", "value", "text"),
    [
        (40, struct.pack("<q", 33), "start_position: .* multiple of 32"),
        (60, struct.pack("<i", 3), "segment_length=3: must be a power of two"),
        (64, struct.pack("<i", -5), "term length|term_length"),
        (24, struct.pack("<q", -(2**62)), "start_time_ns"),
    ],
    ids=["start position", "segment length", "term length", "start time"],
)
def test_an_impossible_field_is_a_fault_of_its_recording(folder, offset, value, text):
    entry = entry_offsets(folder)[1]
    overwrite(folder, entry + 32 + offset, value)
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1, 2, 3, 5]
    with pytest.raises(CorruptRecordingError, match=f"archive.catalog offset {entry}: .*(?:{text})"):
        _ = archive.recording(1).descriptor
    assert archive.recording(2).position > 0


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (struct.pack("<i", 2 << 16), "version 2.0.0: must be 3.x; convert an older archive"),
        (struct.pack("<iiqi", 3 << 16, 32, 0, 48), "alignment=48: must be a power of two"),
        # An entry of this length would be written, but never read.
        (
            struct.pack("<iiqi", 3 << 16, 32, 0, 1 << 24),
            "alignment=16777216: must be a power of two up to 1048576",
        ),
    ],
)
def test_a_header_that_cannot_be_understood_is_refused(folder, header, text):
    overwrite(folder, 0, header)

    with pytest.raises(CorruptRecordingError, match=text):
        Archive.open(folder)


def test_a_catalogue_that_is_cut_off_is_refused(folder):
    with (folder / "archive.catalog").open("r+b") as file:
        file.truncate(10)

    with pytest.raises(CorruptRecordingError, match="10 bytes: must be at least 32"):
        Archive.open(folder)


def test_a_recording_whose_entry_was_moved_is_found_again(folder):
    archive = Archive.open(folder)
    recording = archive.recording(5)
    position = recording.position
    data = (folder / "archive.catalog").read_bytes()
    at = entry_offsets(folder)[4]
    # The Archive replaced the recording before it by one with longer texts.
    length = int.from_bytes(data[at : at + 4], "little") + 64
    grown = (
        data[:at]
        + length.to_bytes(4, "little")
        + data[at + 4 : at + length - 32]
        + bytes(64)
        + data[at + length - 32 :]
    )
    (folder / "archive.catalog").write_bytes(grown[: len(data)])

    assert recording.position == position


def test_a_recording_that_is_known_is_found_without_a_scan_of_all_entries(folder, monkeypatch):
    archive = Archive.open(folder)
    recording = archive.recording(0)
    monkeypatch.setattr(CatalogReader, "entries", None)

    assert archive.recording(0) is recording


def test_a_recording_that_was_known_and_deleted_does_not_exist(folder):
    archive = Archive.open(folder)
    archive.recording(0)
    overwrite(folder, entry_offsets(folder)[0] + 4, struct.pack("<i", 2))

    with pytest.raises(RecordingNotFoundError, match="recordings: 1, 2, 3, 5"):
        archive.recording(0)


def test_an_entry_whose_request_changed_is_parsed_once(folder, monkeypatch):
    recording = Archive.open(folder).recording(0)
    start, parsed, parse = recording.start_position, [], CatalogReader._parse
    monkeypatch.setattr(
        CatalogReader, "_parse", lambda self, *entry: parsed.append(entry) or parse(self, *entry)
    )
    overwrite(folder, entry_offsets(folder)[0] + 32, struct.pack("<q", 77))

    assert [recording.start_position for _ in range(3)] == [start] * 3
    assert len(parsed) == 1
