"""Recovery: finds the end of a recording that was not stopped, and truncates an incomplete last frame.

Data that the index covers with a correct checksum was flushed. Data after it was written and is present unless
the machine has crashed since.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import CorruptRecordingError, StorageError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import read_descriptor
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.file_store import LocalStore
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.index import MESSAGE_BORDER, IndexEntries, entries_of, sound_entries
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.segment_writer import SegmentWriter


@dataclass(frozen=True, slots=True)
class Resumption:
    """The positions at which a recording continues."""

    position: int  # after the last whole frame
    border_position: int  # after the last whole message


def recover(store: LocalStore, recording_id: int, now_ns: int) -> Resumption:
    """Truncate the last segment and its index at the end of valid frames and return that end.

    Data that the index does not cover gets an entry with the time `now_ns`, since the epoch. No recorder may be
    writing the recording. Raises RecordingError if the disk fails.
    """
    recording = Recording(store, recording_id)
    start = read_descriptor(store, recording_id).start_position
    bases = recording.segments()
    if not bases:
        return Resumption(start, start)
    tail = _Tail.load(store, recording, bases[-1], max(bases[-1], start))
    resumption = tail.resumption(has_unflushed_data=_has_unflushed_data(store, recording_id))
    writer = SegmentWriter(tail.segment, tail.index, index_entries=len(tail.entries))
    try:
        writer.cut(resumption.position - tail.base)
        tail.cover(writer, resumption, now_ns)
        writer.flush()  # readers and the sender may pass this position from now on
    finally:
        writer.close()
    return resumption


@dataclass(slots=True)
class _Tail:
    """The last segment of a recording."""

    segment: Path
    index: Path
    base: int
    first_position: int  # of the first possible frame
    data: AtomicBuffer | None  # None for an empty file
    entries: IndexEntries
    scanner: FrameScanner

    @classmethod
    def load(cls, store: LocalStore, recording: Recording, base: int, first_position: int) -> _Tail:
        folder = store.folder / str(recording.recording_id)
        segment = folder / names.segment_file(recording.recording_id, base)
        index = folder / names.index_file(recording.recording_id, base)
        try:
            data = open_mapped_file(segment, read_only=True)
        except StorageError as error:
            if error.errno != errno.ENODATA:
                raise
            data = None
        entries = entries_of(index.read_bytes() if index.exists() else b"")
        entries = sound_entries(entries, base, recording.descriptor.segment_length)
        return cls(segment, index, base, first_position, data, entries, recording.scanner())

    def resumption(self, *, has_unflushed_data: bool) -> Resumption:
        while len(self.entries) and not self._is_right(len(self.entries) - 1):
            self.entries = self.entries[:-1]
        covered = self._end_of(len(self.entries) - 1)
        borders = self.entries[self.entries["flags"] & MESSAGE_BORDER != 0]
        border = int(borders["end_position"][-1]) if len(borders) else self.first_position
        end = self.base + self._capacity if has_unflushed_data else covered
        if self.data is None or end <= border:
            return Resumption(max(border, covered), border)
        scanned = self.scanner.scan(self.data, border - self.base, end - border, border)
        return Resumption(max(border + scanned, covered), border + self.scanner.border_length)

    def cover(self, writer: SegmentWriter, resumption: Resumption, now_ns: int) -> None:
        """Add an index entry for uncovered data."""
        covered = self._end_of(len(self.entries) - 1)
        if resumption.position > covered:
            is_border = resumption.position == resumption.border_position
            crc32 = self._sum(covered, resumption.position)
            writer.add_entry(resumption.position, now_ns, crc32, is_border=is_border)

    @property
    def _capacity(self) -> int:
        return 0 if self.data is None else self.data.capacity

    def _end_of(self, entry: int) -> int:
        return self.first_position if entry < 0 else int(self.entries["end_position"][entry])

    def _is_right(self, entry: int) -> bool:
        begin, end = self._end_of(entry - 1), self._end_of(entry)
        if end > self.base + self._capacity:
            return False
        try:
            return self._sum(begin, end) == int(self.entries["crc32"][entry])
        except CorruptRecordingError:
            return False

    def _sum(self, begin: int, end: int) -> int:
        if self.data is None:
            return 0
        return check_sum(self.scanner, self.data, begin - self.base, end - begin, begin)


def _has_unflushed_data(store: LocalStore, recording_id: int) -> bool:
    """Return whether data that was written but not flushed is still present."""
    mark = RecordingMark.open(store.folder / f"{recording_id}/{names.MARK}")
    return mark is not None and mark.is_of_this_boot


def cut_back(store: LocalStore, recording_id: int, position: int) -> Resumption:
    """Truncate the recording at `position`, the end of a flushed message, and return that position.

    No recorder may be writing the recording. Raises RecordingError if the disk fails.
    """
    recording = Recording(store, recording_id)
    folder = store.folder / str(recording_id)
    for base in reversed(recording.segments()):
        segment = folder / names.segment_file(recording_id, base)
        index = folder / names.index_file(recording_id, base)
        if base >= position:
            segment.unlink()
            index.unlink(missing_ok=True)
            continue
        entries = entries_of(index.read_bytes() if index.exists() else b"")
        entries = sound_entries(entries, base, recording.descriptor.segment_length)
        kept = int((entries["end_position"] <= position).sum())
        writer = SegmentWriter(segment, index, index_entries=kept)
        try:
            writer.cut(position - base)
        finally:
            writer.close()
        break
    return Resumption(position, position)
