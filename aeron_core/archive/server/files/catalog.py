"""Catalogue of an archive that this process serves: the file `archive.catalog`, read once and then written.

Not here: reading the catalogue of another process (`foreign.catalog`), and segment files (segment_files).
Invariant: an entry of the file is complete before the header counts it, and `entries` is what the file has.

Source: Catalog.java; the layout is in docs/wire/archive-files.md.
"""

from __future__ import annotations

import errno
import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from aeron_core._native import wire
from aeron_core.archive.server.files.catalogued import FIELDS, Catalogued
from aeron_core.archive.server.files.segment_files import SegmentFiles
from aeron_core.errors import CorruptRecordingError, RecordingError
from aeron_core.file_access import FileAccess
from aeron_core.protocol.archive.codes import NULL_VALUE
from aeron_core.recording.storage.file_store import LocalStore, sync_folder, write_failure
from aeron_core.recording.storage.foreign.catalog import CATALOG, CatalogEntry, CatalogReader
from aeron_core.recording.storage.foreign.contents import ForeignContents

#: Version of the files. Source: ArchiveMarkFile.SEMANTIC_VERSION.
FILE_VERSION: Final = 3 << 16 | 1 << 8
#: Alignment of entries in a new file. Source: BitUtil.CACHE_LINE_LENGTH.
_ALIGNMENT: Final = 64
#: Length of a new file. Source: Catalog.DEFAULT_CAPACITY.
_CAPACITY: Final = 1024 * 1024
#: Longest file. Source: Catalog.MAX_CATALOG_LENGTH.
_MAX_LENGTH: Final = 2**31 - 1
#: Of a copy that replaces the file, and bytes of one step of its making. Invented.
_COPY_SUFFIX: Final = ".new"
_COPY_LENGTH: Final = 1024 * 1024
_HEADER: Final = struct.Struct("<iiqi12x")
_NEXT_ID_OFFSET: Final = 8
_ENTRY_HEADER: Final = struct.Struct("<iii20x")
_STATE_OFFSET: Final = 4
_VALID: Final = 1
_DELETED: Final = 2
_INT64: Final = struct.Struct("<q")


@dataclass(slots=True)
class _Slot:
    """Place of an entry in the file, in bytes; its length includes header and padding."""

    offset: int
    length: int


class Catalog:
    """The recordings of one folder; one thread uses it. Methods raise RecordingError if the disk fails.

    The constructor creates the file if there is none, and gives recordings that an archive left without a stop position
    one. Raises CorruptRecordingError for a file that is damaged or has another version.
    """

    def __init__(self, folder: Path, now_ms: int, *, sync: bool = False) -> None:
        self._path = folder / CATALOG
        self._copy_path = folder / f"{CATALOG}{_COPY_SUFFIX}"
        self._sync = sync
        self.entries: dict[int, Catalogued] = {}  # in the order of their ids
        # Of `entries`, sorted: the list of a client takes many duty cycles, and needs no copy.
        self._ids: list[int] = []
        self._slots: dict[int, _Slot] = {}
        try:
            self._fd = FileAccess.like(folder).open(self._path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError as error:
            raise write_failure("open", self._path, error) from error
        try:
            self._copy_path.unlink(missing_ok=True)  # of a process that was killed
            self._capacity = os.fstat(self._fd).st_size
            if self._capacity == 0:
                self._create()
            self._load(folder)
            self._recover(folder, now_ms)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def add(self, entry: Catalogued) -> Catalogued:
        """Add a recording with the next id, instead of that of `entry`, and return it."""
        entry = replace(entry, recording_id=self._next_id)
        data = self._framed(entry.encode())
        self._reserve(self._end + len(data))
        self._write(self._end, data)
        self._slots[entry.recording_id] = _Slot(self._end, len(data))
        self._end += len(data)
        self._next_id += 1
        self._write(_NEXT_ID_OFFSET, _INT64.pack(self._next_id))
        self.entries[entry.recording_id] = entry
        self._ids.append(entry.recording_id)
        return entry

    def replace(self, entry: Catalogued) -> None:
        """Replace the entry with the same id, whose texts may be longer: then the file is replaced by a new one."""
        slot, data = self._slots[entry.recording_id], self._framed(entry.encode())
        if len(data) < slot.length:
            data = (
                _ENTRY_HEADER.pack(slot.length - _ENTRY_HEADER.size, _VALID, 0) + data[_ENTRY_HEADER.size :]
            )
            data += bytes(slot.length - len(data))
        if len(data) == slot.length:
            self._write(slot.offset, data)
        else:
            self._move_behind(slot, data)
        self.entries[entry.recording_id] = entry

    def update(
        self, recording_id: int, *, session: int = 0, correlation_id: int = 0, **changes: int | str
    ) -> Catalogued:
        """Change fields of an entry and return it; `session` and `correlation_id` are those of the request."""
        entry = replace(self.entries[recording_id], **changes)  # type: ignore[arg-type]
        if "channel" in changes:
            self.replace(entry)
            return entry
        # One write of the fixed fields: a reader of the file finds all of them changed, or none.
        data = entry.encode(session, correlation_id)[: FIELDS.size]
        self._write(self._slots[recording_id].offset + _ENTRY_HEADER.size, data)
        self.entries[recording_id] = entry
        return entry

    def delete(self, recording_id: int) -> None:
        """Mark a recording as deleted; its id is not used again."""
        self._write(self._slots[recording_id].offset + _STATE_OFFSET, struct.pack("<i", _DELETED))
        del self.entries[recording_id]
        del self._ids[bisect_left(self._ids, recording_id)]
        # Its slot stays, because entries before it may grow.

    def from_id(self, recording_id: int) -> Iterator[Catalogued]:
        """Yield the recordings from an id on, in the order of their ids."""
        while (index := bisect_left(self._ids, recording_id)) < len(self._ids):
            found = self._ids[index]
            yield self.entries[found]
            recording_id = found + 1

    def _create(self) -> None:
        self._reserve(_CAPACITY)
        self._write(0, _HEADER.pack(FILE_VERSION, _HEADER.size, 0, _ALIGNMENT))

    def _load(self, folder: Path) -> None:
        reader = CatalogReader(LocalStore(folder))
        found, text = reader.entries()
        faults = [entry for entry in found if isinstance(entry, CorruptRecordingError)]
        if text or faults:
            # An entry that is added behind damage would never be found.
            raise faults[0] if faults else CorruptRecordingError(text)
        self._alignment, self._end = reader.alignment, reader.first_offset
        highest = -1
        for entry in found:
            assert isinstance(entry, CatalogEntry)
            self._end = entry.offset + entry.length
            self._slots[entry.recording_id] = _Slot(entry.offset, entry.length)
            highest = max(highest, entry.recording_id)
            if entry.is_valid:
                self.entries[entry.recording_id] = self.check(_catalogued(entry))
        self._ids = sorted(self.entries)
        # The header is written after the entry.
        self._next_id = max(reader.next_recording_id, highest + 1)

    def check(self, entry: Catalogued) -> Catalogued:
        """Return `entry`; raise CorruptRecordingError if its lengths and positions cannot be those of a recording."""
        term, segment, start = entry.term_length, entry.segment_length, entry.start_position
        is_possible = (
            wire.TERM_MIN_LENGTH <= term <= wire.TERM_MAX_LENGTH
            and term & (term - 1) == 0
            and segment >= term
            and segment & (segment - 1) == 0
            and start >= 0
            and start % wire.FRAME_ALIGNMENT == 0
            and wire.DATA_HEADER_LENGTH < entry.mtu_length <= wire.MAX_UDP_PAYLOAD_LENGTH
            and entry.mtu_length % wire.FRAME_ALIGNMENT == 0
            and (entry.stop_position == NULL_VALUE or entry.stop_position >= start)
        )
        if not is_possible:
            raise CorruptRecordingError(
                f"{self._path}: recording {entry.recording_id} has impossible lengths or positions; restore a copy of "
                "the file"
            )
        return entry

    def _recover(self, folder: Path, now_ms: int) -> None:
        """Store stop positions for the recordings of an archive that died."""
        interrupted = [entry for entry in self.entries.values() if entry.stop_position == NULL_VALUE]
        if not interrupted:
            return
        contents = ForeignContents(LocalStore(folder))
        for entry in interrupted:
            recording = contents.recording(entry.recording_id)
            assert recording is not None
            end = recording.interrupted_end()
            SegmentFiles(folder, entry).erase_after(end)
            self.update(entry.recording_id, stop_position=end, stop_time_ms=now_ms)

    def _move_behind(self, slot: _Slot, data: bytes) -> None:
        """Give an entry a longer slot. Entries behind it move, so this is done in a copy, which replaces the file.

        A process that is killed, or a reader, finds the old file or the new one.
        """
        shift, following = len(data) - slot.length, slot.offset + slot.length
        capacity = self._capacity_for(self._end + shift)
        copy = self._copy_path
        try:
            copy.unlink(missing_ok=True)
            fd = FileAccess.like(self._path.parent).open(copy, os.O_RDWR | os.O_EXCL | os.O_NOFOLLOW)
            try:
                _copy(self._fd, fd, 0, slot.offset, 0)
                _write_at(fd, slot.offset, data)
                _copy(self._fd, fd, following, self._end, shift)
                os.ftruncate(fd, capacity)
                os.fsync(fd)
                os.replace(copy, self._path)
            except BaseException:
                os.close(fd)
                copy.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise write_failure("write", copy, error) from error
        os.close(self._fd)
        self._fd, self._capacity = fd, capacity
        self._end += shift
        for other in self._slots.values():
            if other.offset >= following:
                other.offset += shift
        slot.length += shift
        sync_folder(self._path.parent)

    def _framed(self, descriptor: bytes) -> bytes:
        length = _ENTRY_HEADER.size + len(descriptor)
        whole = -(-length // self._alignment) * self._alignment
        header = _ENTRY_HEADER.pack(whole - _ENTRY_HEADER.size, _VALID, 0)
        return header + descriptor + bytes(whole - length)

    def _capacity_for(self, length: int) -> int:
        """Return the capacity of a file with `length` bytes, with space for more entries."""
        if length > _MAX_LENGTH:
            raise RecordingError(f"{self._path}: is full, with {_MAX_LENGTH} bytes: begin another archive")
        if length <= self._capacity:
            return self._capacity
        return min(max(length, self._capacity + self._capacity // 2), _MAX_LENGTH)

    def _reserve(self, length: int) -> None:
        """Make the file long enough for `length` bytes and the zeros that end the entries."""
        capacity = self._capacity_for(length)
        if capacity == self._capacity:
            return
        try:
            os.ftruncate(self._fd, capacity)
        except OSError as error:
            raise write_failure("resize", self._path, error) from error
        self._capacity = capacity

    def _write(self, offset: int, data: bytes) -> None:
        try:
            written = os.pwrite(self._fd, data, offset)
            if self._sync:
                os.fdatasync(self._fd)
        except OSError as error:
            raise write_failure("write", self._path, error) from error
        if written < len(data):
            raise RecordingError(
                f"cannot write {self._path}: only {written} of {len(data)} bytes were written; free disk space"
            )


def _write_at(fd: int, offset: int, data: bytes) -> None:
    """Write all of `data` at an offset; raise OSError."""
    written = 0
    while written < len(data):
        written += os.pwrite(fd, data[written:], offset + written)


def _copy(source: int, target: int, begin: int, end: int, shift: int) -> None:
    """Copy the bytes from `begin` to `end` of a file to another one, `shift` bytes further on; raise OSError."""
    while begin < end:
        data = os.pread(source, min(end - begin, _COPY_LENGTH), begin)
        if not data:
            raise OSError(errno.EIO, "the file has become shorter")
        _write_at(target, begin + shift, data)
        begin += len(data)


def _catalogued(entry: CatalogEntry) -> Catalogued:
    return Catalogued(
        recording_id=entry.recording_id,
        start_time_ms=entry.start_time_ms,
        stop_time_ms=NULL_VALUE if entry.stop_time_ms is None else entry.stop_time_ms,
        start_position=entry.start_position,
        stop_position=NULL_VALUE if entry.stop_position is None else entry.stop_position,
        initial_term_id=entry.initial_term_id,
        segment_length=entry.segment_length,
        term_length=entry.term_length,
        mtu_length=entry.mtu_length,
        session_id=entry.session_id,
        stream_id=entry.stream_id,
        stripped_channel=entry.stripped_channel,
        channel=entry.channel,
        source_identity=entry.source_identity,
    )
