"""The catalogue that an archive writes: growth, replaced entries, damage and recovery."""

from __future__ import annotations

import errno
import struct
from dataclasses import replace
from unittest.mock import Mock

import pytest

from aeron_core.archive.server.files.catalog import Catalog
from aeron_core.archive.server.files.catalogued import Catalogued
from aeron_core.archive.server.files.segment_files import SegmentFiles
from aeron_core.errors import CorruptRecordingError, RecordingError
from aeron_core.recording import Archive

TERM_LENGTH = 64 * 1024
ENTRY = Catalogued(
    recording_id=-1,
    start_time_ms=5,
    stop_time_ms=6,
    start_position=0,
    stop_position=0,
    initial_term_id=3,
    segment_length=2 * TERM_LENGTH,
    term_length=TERM_LENGTH,
    mtu_length=8192,
    session_id=7,
    stream_id=100,
    stripped_channel="aeron:ipc",
    channel="aeron:ipc?alias=x",
    source_identity="aeron:ipc",
)
LIVE = replace(ENTRY, stop_position=-1, stop_time_ms=-1)
_FRAME = struct.Struct("<iBBHiiiiq")


def frame(position: int, length: int, payload: bytes = b"\x01") -> bytes:
    """Return a data frame of the recording, of `length` bytes with its header, aligned."""
    term, offset = divmod(position, TERM_LENGTH)
    header = _FRAME.pack(length, 0, 0xC0, 1, offset, ENTRY.session_id, ENTRY.stream_id, 3 + term, 0)
    return (header + payload * (length - 32)).ljust(-(-length // 32) * 32, b"\0")


def write_segment(folder, recording_id: int, base: int, data: bytes) -> None:
    with (folder / f"{recording_id}-{base}.rec").open("wb") as file:
        file.write(data)
        file.truncate(ENTRY.segment_length)


def test_entries_are_found_again_in_a_file_that_has_grown(tmp_path):
    catalog = Catalog(tmp_path, 1)
    channel = "aeron:ipc?alias=" + "y" * 1000
    for _ in range(1200):
        catalog.add(replace(ENTRY, channel=channel))
    catalog.delete(5)
    catalog.update(7, stop_position=32)
    catalog.replace(replace(catalog.entries[3], channel="aeron:ipc?alias=" + "z" * 1900))
    entries = dict(catalog.entries)
    catalog.close()

    again = Catalog(tmp_path, 2)

    assert (tmp_path / "archive.catalog").stat().st_size > 1024 * 1024
    assert again.entries == entries
    assert sorted(again.entries) == [*range(5), *range(6, 1200)]
    assert again.add(ENTRY).recording_id == 1200
    assert [each.recording_id for each in again.from_id(1198)] == [1198, 1199, 1200]
    again.close()
    assert len(Archive.open(tmp_path).recordings()) == 1200


def test_a_replaced_entry_may_be_shorter_and_longer_again(tmp_path):
    catalog = Catalog(tmp_path, 1)
    first, second = catalog.add(ENTRY), catalog.add(ENTRY)
    for length in (1, 900, 50, 1000):
        changed = catalog.update(first.recording_id, channel="aeron:ipc?alias=" + "q" * length)
        catalog.close()
        catalog = Catalog(tmp_path, 2)
        assert list(catalog.entries.values()) == [changed, second]
    catalog.close()


def test_a_longer_entry_replaces_the_file_as_a_whole_so_that_a_kill_damages_nothing(tmp_path, monkeypatch):
    catalog = Catalog(tmp_path, 1)
    first, second = catalog.add(ENTRY), catalog.add(ENTRY)
    path = tmp_path / "archive.catalog"
    before = path.read_bytes()
    (tmp_path / "archive.catalog.new").write_bytes(b"of a process that was killed")
    longer = "aeron:ipc?alias=" + "q" * 900

    with path.open("rb") as old:
        with monkeypatch.context() as patch:
            patch.setattr("os.replace", Mock(side_effect=OSError(errno.ENOSPC, "no space")))
            with pytest.raises(RecordingError, match="no space"):
                catalog.update(first.recording_id, channel=longer)
        assert path.read_bytes() == before
        assert list(catalog.entries.values()) == [first, second]
        changed = catalog.update(first.recording_id, channel=longer)
        assert old.read() == before

    assert catalog.add(ENTRY).recording_id == 2
    catalog.close()
    again = Catalog(tmp_path, 2)
    assert list(again.entries.values())[:2] == [changed, second]
    again.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["archive.catalog"]


@pytest.mark.parametrize(
    ("offset", "data", "text"),
    [
        (0, struct.pack("<i", 2 << 16), "version 2.0.0"),
        (32, struct.pack("<i", -5), "an entry of -5 bytes"),
        (32 + 32 + 64, struct.pack("<i", 1000), "impossible lengths"),
        (32 + 32 + 40, struct.pack("<q", -32), "impossible lengths"),
        (32 + 32 + 80, struct.pack("<I", 2**31), "texts that are longer"),
    ],
)
def test_a_damaged_catalogue_is_refused(tmp_path, offset, data, text):
    catalog = Catalog(tmp_path, 1)
    catalog.add(ENTRY)
    catalog.close()
    with (tmp_path / "archive.catalog").open("r+b") as file:
        file.seek(offset)
        file.write(data)

    with pytest.raises(CorruptRecordingError, match=text):
        Catalog(tmp_path, 2)


def test_an_interrupted_recording_ends_after_its_last_frame(tmp_path):
    catalog = Catalog(tmp_path, 1)
    entry, empty = catalog.add(LIVE), catalog.add(LIVE)
    catalog.close()
    write_segment(tmp_path, entry.recording_id, 0, frame(0, 100) + frame(128, 1000))

    again = Catalog(tmp_path, 77)

    stopped = again.entries[entry.recording_id]
    assert (stopped.stop_position, stopped.stop_time_ms) == (128 + 1024, 77)
    assert again.entries[empty.recording_id].stop_position == 0
    again.close()


def test_a_last_frame_that_was_written_in_part_is_erased(tmp_path):
    catalog = Catalog(tmp_path, 1)
    entry = catalog.add(LIVE)
    catalog.close()
    torn = frame(128, 8192)
    torn = torn[: 4096 - 128] + bytes(8192 - 4096 + 128)  # the second page was not written
    write_segment(tmp_path, entry.recording_id, 0, frame(0, 100) + torn)

    again = Catalog(tmp_path, 2)

    assert again.entries[entry.recording_id].stop_position == 128
    content = (tmp_path / "0-0.rec").read_bytes()
    assert (len(content), any(content[128:])) == (ENTRY.segment_length, False)
    again.close()


def test_the_first_frame_of_a_segment_may_be_within_its_term(tmp_path):
    write_segment(tmp_path, 0, 0, bytes(4096) + frame(4096, 100))
    files = SegmentFiles(tmp_path, replace(ENTRY, recording_id=0))

    assert files.first_frame_of(0) == 4096
    assert files.has_frame_at(4096)
    assert not files.has_frame_at(4128)
    write_segment(tmp_path, 0, 0, b"")
    with pytest.raises(Exception, match="has no frame in its first term"):
        files.first_frame_of(0)
    write_segment(tmp_path, 0, 0, frame(TERM_LENGTH, 100))
    with pytest.raises(Exception, match="is not of this recording"):
        files.first_frame_of(0)
