"""Recovery: finds the end of a recording that was not stopped, and truncates an incomplete last frame.

Data up to the mark was flushed if the durability policy flushes. Later data was written, and is lost only if the
machine has crashed since: a crash is the only harmless cause of a wrong checksum, and only in data that was not
flushed. Any other wrong checksum is damage, which recovery reports and keeps, so that `verify` and readers find it.
What it truncates is not damage: `Resumption.lost` is for a notice.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import CorruptRecordingError, RecordingNotFoundError, StorageError
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import read_descriptor
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.file_store import LocalStore, write_failure
from aeron_core.recording.storage.frame_scanner import FrameScanner
from aeron_core.recording.storage.index import (
    MAX_COVERED_LENGTH,
    MESSAGE_BORDER,
    IndexEntries,
    entries_of,
    sound_entries,
)
from aeron_core.recording.storage.mark import RecordingMark
from aeron_core.recording.storage.recording import Recording
from aeron_core.recording.writing.segment_writer import SegmentWriter

#: Remedy in messages about damaged data.
_REMEDY: Final = "`aeron-core recordings verify --accept` accepts it as it is"


@dataclass(frozen=True, slots=True)
class LostEnd:
    """Bytes from `begin` to `end`, positions of a recording, that it no longer has."""

    recording_id: int
    file: str  # of its last segment
    begin: int  # where the recording continues
    end: int  # of the file, of its index, or the published position, whichever is the furthest
    shown: int  # published position
    is_written: bool  # whether all that was written is surely there: the machine has not restarted since

    def notice(self, *, continues: bool) -> str:
        """Return a sentence; `continues`: whether the stream still has the frames, which are recorded again."""
        cause = (
            "the recorder ended while it wrote them"
            if self.is_written
            else "the machine has restarted, or the mark is missing, and they may not have been on the disk"
        )
        result = "; the stream delivers them again" if continues else ""
        seen = f"; readers may have read up to {self.shown}" if self.shown > self.begin else ""
        return (
            f"recording {self.recording_id}: {self.file}: lost {self.end - self.begin} bytes at the end, positions "
            f"{self.begin} to {self.end}: {cause}{result}{seen}"
        )


@dataclass(frozen=True, slots=True)
class Resumption:
    """The positions at which a recording continues."""

    position: int  # after the last whole frame
    border_position: int  # after the last whole message
    damage: tuple[str, ...] = field(default=(), compare=False)  # what was found and kept
    lost: LostEnd | None = field(default=None, compare=False)  # what was truncated, None if there was nothing
    can_continue: bool = field(
        default=True, compare=False
    )  # False if damaged data and new data could not be distinguished


def recover(store: LocalStore, recording_id: int, now_ns: int) -> Resumption:
    """Truncate the last segment and its index at the end of valid frames; return the positions to continue at.

    Data that the index does not cover gets an entry with the time `now_ns`, since the epoch. Files that
    cannot be continued are left as they are. No recorder may be writing the recording. Raises RecordingError
    or StorageError if the disk fails.
    """
    recording = Recording(store, recording_id)
    start = read_descriptor(store, recording_id).start_position
    promise, damage = _promise_of(store, recording)
    bases = recording.segments()
    if not bases:
        file = names.segment_file(recording_id, recording.segment_base(start))
        # Files that are missing although the machine has not crashed were deleted: there is nothing to truncate.
        end = start if promise.is_written else promise.shown
        lost = _lost_end(recording_id, file, promise, start, end)
        return Resumption(start, start, damage, lost)
    tail = _Tail.load(store, recording, bases[-1], max(bases[-1], start))
    end = max(tail.end, promise.shown)
    tail.drop_unflushed_entries(promise)
    if defect := tail.defect(promise):
        kept = min(max(promise.shown, start), tail.end)
        text = f"recording {recording_id} position {tail.covered}: {defect}; it is kept, and ends at {kept}; {_REMEDY}"
        return Resumption(kept, kept, (*damage, text), can_continue=False)
    if wrong := tail.wrong_sums():
        damage += (f"recording {recording_id} {wrong}; they are kept, and readers stop there; {_REMEDY}",)
    position, border = tail.resumption(has_unflushed_data=promise.is_written)
    writer = SegmentWriter(tail.segment, tail.index, index_entries=len(tail.entries))
    try:
        writer.cut(position - tail.base)
        tail.cover(writer, position, now_ns, is_border=position == border)
        writer.flush()  # readers and the sender may pass this position from now on
    finally:
        writer.close()
    lost = _lost_end(recording_id, tail.segment.name, promise, position, end)
    return Resumption(position, border, damage, lost)


def _lost_end(recording_id: int, file: str, promise: _Promise, begin: int, end: int) -> LostEnd | None:
    if begin >= end:
        return None
    return LostEnd(recording_id, file, begin, end, promise.shown, promise.is_written)


@dataclass(frozen=True, slots=True)
class _Promise:
    """Data of a recording that recovery must find in its files."""

    is_written: (
        bool  # whether data that was written and not flushed is still present: the machine has not crashed
    )
    flushed: int  # position up to which everything was flushed, with its index
    shown: int  # published position, up to which readers read


def _promise_of(store: LocalStore, recording: Recording) -> tuple[_Promise, tuple[str, ...]]:
    """Return what the mark of a recording promises, and the damage; a damaged mark is renamed."""
    path = store.folder / f"{recording.recording_id}/{names.MARK}"
    damage: tuple[str, ...] = ()
    stop_position = recording.descriptor.stop_position
    try:
        mark = RecordingMark.open(path)
    except CorruptRecordingError as error:
        mark = None
        kept = _rename(path, f"{names.MARK}.damaged")
        # Without its remedy, to delete the file: it has just been renamed.
        text = str(error).rpartition("; ")[0]
        damage = (f"recording {recording.recording_id}: {text}; it is kept as {kept.name}",)
    if mark is None:
        return _Promise(is_written=False, flushed=0, shown=stop_position or 0), damage
    shown = mark.position if stop_position is None else stop_position
    return _Promise(mark.is_of_this_boot, shown if mark.is_flushed else 0, shown), damage


@dataclass(slots=True)
class _Tail:
    """The last segment of a recording."""

    segment: Path
    index: Path
    base: int
    first_position: int  # of the first possible frame
    term_length: int
    data: AtomicBuffer | None  # None for an empty file
    entries: IndexEntries
    has_lost_entries: bool  # whether the index has invalid entries, or is missing
    scanner: FrameScanner

    @classmethod
    def load(cls, store: LocalStore, recording: Recording, base: int, first_position: int) -> _Tail:
        folder = store.folder / str(recording.recording_id)
        segment = folder / names.segment_file(recording.recording_id, base)
        index = folder / names.index_file(recording.recording_id, base)
        descriptor = recording.descriptor
        try:
            data = open_mapped_file(segment, read_only=True)
        except StorageError as error:
            if error.errno != errno.ENODATA:
                raise
            data = None
        content = _content_of(store, recording.recording_id, base)
        found = entries_of(content or b"")
        entries = sound_entries(found, first_position, base + descriptor.segment_length)
        has_lost_entries = len(entries) < len(found) or (data is not None and content is None)
        scanner = recording.scanner()
        return cls(
            segment,
            index,
            base,
            first_position,
            descriptor.term_length,
            data,
            entries,
            has_lost_entries,
            scanner,
        )

    @property
    def covered(self) -> int:
        """The position up to which the index covers the data."""
        return self._end_of(len(self.entries) - 1)

    @property
    def end(self) -> int:
        """The position at which the file or its index ends, whichever is longer."""
        return max(self.base + self._capacity, self.covered)

    def drop_unflushed_entries(self, promise: _Promise) -> None:
        """After a crash of the machine, drop the last entries with wrong checksums, of data that was not flushed."""
        while (
            not promise.is_written
            and len(self.entries)
            and self._end_of(len(self.entries) - 2) >= promise.flushed
            and not self._is_right(len(self.entries) - 1)
        ):
            self.entries = self.entries[:-1]

    def defect(self, promise: _Promise) -> str:
        """Return why the files cannot be continued, an empty text if they can."""
        covered, index, segment = self.covered, self.index.name, self.segment.name
        # Only with entries: without, `covered` is the start of the recording, which may be after the end of an empty
        # file if the recording begins within a term.
        if len(self.entries) and self.base + self._capacity < covered:
            return f"{segment}: ends at position {self.base + self._capacity}: {index} covers more"
        uncovered = self.base + self._capacity - covered
        # A recorder adds an entry after the write that leaves MAX_COVERED_LENGTH bytes or more uncovered; this write
        # has at most as many bytes, or is padding.
        most = 2 * MAX_COVERED_LENGTH + self.term_length
        is_short = covered < promise.flushed or (promise.is_written and uncovered > most)
        if is_short or (self.has_lost_entries and promise.is_written):
            return f"{index}: is missing or damaged: it covers no data after this position"
        return ""

    def wrong_sums(self) -> str:
        """Return a text on the pieces after the last one with the right checksum; empty if there are none."""
        entry = len(self.entries)
        while entry > 0 and not self._is_right(entry - 1):
            entry -= 1
        if entry == len(self.entries):
            return ""
        return (
            f"position {self._end_of(entry - 1)}: {self.segment.name}: the frames up to {self.covered} do not have the "
            f"checksums of {self.index.name}"
        )

    def resumption(self, *, has_unflushed_data: bool) -> tuple[int, int]:
        """Return the positions after the last whole frame and after the last whole message."""
        covered = self.covered
        borders = self.entries[self.entries["flags"] & MESSAGE_BORDER != 0]
        border = int(borders["end_position"][-1]) if len(borders) else self.first_position
        if self.data is None:
            return covered, border
        if covered > border:
            self.scanner.scan(self.data, border - self.base, covered - border, border)
            # Of a damaged index, the last entry can end within padding.
            border = min(border + self.scanner.border_length, covered)
        end = self.base + self._capacity
        if not has_unflushed_data or end <= covered:
            return covered, border
        scanned = self.scanner.scan(self.data, covered - self.base, end - covered, covered)
        if self.scanner.border_length:
            border = covered + self.scanner.border_length
        return covered + scanned, border

    def cover(self, writer: SegmentWriter, position: int, now_ns: int, *, is_border: bool) -> None:
        """Add an index entry for uncovered data before `position`, if there is any."""
        if position > self.covered:
            if position > self.base + self._capacity:
                # The recorder died after it had written the header of padding, and `recover` has just extended the
                # file by the body: map the longer file.
                self.data = open_mapped_file(self.segment, read_only=True)
            crc32 = self._sum(self.covered, position)
            writer.add_entry(position, now_ns, crc32, is_border=is_border)

    @property
    def _capacity(self) -> int:
        return 0 if self.data is None else self.data.capacity

    def _end_of(self, entry: int) -> int:
        return self.first_position if entry < 0 else int(self.entries["end_position"][entry])

    def _is_right(self, entry: int) -> bool:
        begin, end = self._end_of(entry - 1), self._end_of(entry)
        if end > self.base + self._capacity:
            return False
        return self._sum(begin, end) == int(self.entries["crc32"][entry])

    def _sum(self, begin: int, end: int) -> int:
        return 0 if self.data is None else check_sum(self.data, begin - self.base, end - begin)


def cut_back(store: LocalStore, recording_id: int, position: int) -> Resumption:
    """Truncate the recording at `position`, the end of a flushed message; return the resumption there.

    No recorder may be writing the recording. Raises RecordingError if the disk fails, and CorruptRecordingError if the
    index does not cover the data before the position.
    """
    recording = Recording(store, recording_id)
    folder = store.folder / str(recording_id)
    for base in reversed(recording.segments()):
        segment = folder / names.segment_file(recording_id, base)
        index = folder / names.index_file(recording_id, base)
        if base >= position:
            for path in (segment, index):
                store.delete(f"{recording_id}/{path.name}")
            continue
        entries = entries_of(_content_of(store, recording_id, base) or b"")
        first_position = max(base, recording.start_position)
        entries = sound_entries(entries, first_position, base + recording.descriptor.segment_length)
        kept = int((entries["end_position"] <= position).sum())
        covered = int(entries["end_position"][kept - 1]) if kept else first_position
        if covered != position:
            raise CorruptRecordingError(
                f"recording {recording_id} position {covered}: {index.name}: is missing or damaged: it must cover the "
                f"data up to {position}; `aeron-core recordings verify --accept` replaces it by an index of the data "
                "as it is, up to the first invalid frame"
            )
        writer = SegmentWriter(segment, index, index_entries=kept)
        try:
            writer.cut(position - base)
        finally:
            writer.close()
        break
    return Resumption(position, position)


def _content_of(store: LocalStore, recording_id: int, base: int) -> bytes | None:
    """Return the bytes of the index of a segment, None if it is missing."""
    try:
        return store.read(f"{recording_id}/{names.index_file(recording_id, base)}")
    except RecordingNotFoundError:
        return None


def _rename(path: Path, name: str) -> Path:
    try:
        return path.rename(path.with_name(name))
    except OSError as error:
        raise write_failure("rename", path, error) from error
