"""Damaged catalogues: what can be read is read, and what cannot is named with its offset."""

import struct

import pytest

from aeron_core.errors import CorruptRecordingError
from aeron_core.recording import Archive

HEADER_LENGTH = 32


def entry_offsets(folder):
    data = (folder / "archive.catalog").read_bytes()
    offsets, at = [], HEADER_LENGTH
    while length := struct.unpack_from("<i", data, at)[0]:
        offsets.append(at)
        at += -(-(length + 32) // 64) * 64
    return offsets


def overwrite(folder, offset, data):
    with (folder / "archive.catalog").open("r+b") as file:
        file.seek(offset)
        file.write(data)


def ids(archive):
    return [recording.recording_id for recording in archive.recordings()]


def test_a_sound_catalogue_has_no_faults(folder):
    assert Archive.open(folder).faults() == []


@pytest.mark.parametrize("length", [4, 1 << 30, 65_536])
def test_an_impossible_length_hides_the_entries_from_there_on(folder, length):
    offset = entry_offsets(folder)[2]
    overwrite(folder, offset, length.to_bytes(4, "little"))
    archive = Archive.open(folder)

    assert ids(archive) == [0, 1]
    (fault,) = archive.faults()
    assert f"archive.catalog offset {offset}: an entry of {length} bytes: must be from 92 to" in str(fault)


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
