"""Acceptance of damage, on request of the user: the index gets the checksums of what a recording contains now.

Not here: finding what is damaged (verification). Invariant: no frame is changed, and an index is copied under another
name before it is replaced, so that the original checksums are kept.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass

from aeron_core._native import positions
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.mapped_file import open_mapped_file
from aeron_core.errors import StorageError
from aeron_core.recording._native import faults
from aeron_core.recording.retention.states import RecordingState, state_of
from aeron_core.recording.storage import names
from aeron_core.recording.storage.catalogue import has_recorder, update_descriptor
from aeron_core.recording.storage.check_sums import check_sum
from aeron_core.recording.storage.file_store import FileStore
from aeron_core.recording.storage.index import MAX_COVERED_LENGTH, MESSAGE_BORDER, entry_bytes
from aeron_core.recording.storage.recording import Recording


def accept_damage(store: FileStore, recording: Recording, now_ns: int) -> Iterator[str]:
    """Correct the checksums of pieces with valid frames, and yield a text for each change; iterate to the end.

    A recording without a recorder then ends before the first invalid frame of its last file, at the end of a message.
    Left as they are: pieces with invalid frames in earlier files, missing files, and the last file of a recording
    that is being recorded. `now_ns`: since the epoch. Raises RecordingError if the disk fails, StorageError if a file
    cannot be opened; that file and those after it are then unchanged.
    """
    is_live = recording.is_live and (
        state_of(recording, now_ns) is RecordingState.LIVE or has_recorder(store)
    )
    begin, end = recording.start_position, recording.position
    segment_length = recording.descriptor.segment_length
    bases = [base for base in recording.segments() if base < end and base + segment_length > begin]
    reached = begin
    for base in bases[:-1] if is_live else bases:
        segment = _AcceptedSegment(store, recording, base, ends_at_fault=base == bases[-1])
        segment.accept(now_ns)
        yield from segment.done
        reached = segment.end
    if not is_live and reached < end:
        update_descriptor(
            store, recording.recording_id, stop_position=max(reached, begin), stop_time_ns=now_ns
        )
        yield f"recording {recording.recording_id} ends at position {max(reached, begin)}, not at {end}"


@dataclass(frozen=True, slots=True)
class _AcceptedEntry:
    """One entry of the new index."""

    end: int
    time_ns: int
    crc32: int
    is_border: bool

    def to_bytes(self) -> bytes:
        return entry_bytes(self.end, self.time_ns, self.crc32, is_border=self.is_border)


class _AcceptedSegment:
    """One segment, and its new index."""

    def __init__(self, store: FileStore, recording: Recording, base: int, *, ends_at_fault: bool) -> None:
        self.end = recording.first_position(base)  # of what the new index covers
        self.done: list[str] = []
        self._ends_at_fault = ends_at_fault
        self._store = store
        self._recording = recording
        self._base = base
        self._scanner = recording.scanner()
        self._data = _data_of(
            store, f"{recording.recording_id}/{names.segment_file(recording.recording_id, base)}"
        )
        # The position up to which the index must cover the segment.
        self._stop = min(
            base + recording.descriptor.segment_length, base + self._data.capacity, recording.position
        )
        self._entries: list[_AcceptedEntry] = []

    def accept(self, now_ns: int) -> None:
        """Replace the index if a checksum was wrong or missing, and the frames are valid."""
        time_ns = self._recording.descriptor.start_time_ns
        for entry in self._recording.all_index_entries(self._base):
            end, time_ns = int(entry["end_position"]), int(entry["time_ns"])
            if self.end >= self._stop:
                break
            if end > self._base + self._data.capacity:
                if self._ends_at_fault:
                    self._cover_rest(time_ns)
                break
            if not self._accept_piece(end, time_ns, int(entry["crc32"]), int(entry["flags"])):
                break
        else:
            self._cover_rest(time_ns)
        if self._ends_at_fault and (self.done or self.end < self._recording.position):
            self._end_at_message()
        if self.done:
            recording_id = self._recording.recording_id
            name = f"{recording_id}/{names.index_file(recording_id, self._base)}"
            if self._store.size(name) >= 0:
                self._store.write(f"{name}.{now_ns}", self._store.read(name))
            self._store.write(name, b"".join(entry.to_bytes() for entry in self._entries))

    def _accept_piece(self, end: int, time_ns: int, crc32: int, flags: int) -> bool:
        """Add the entry of a piece, with a corrected checksum if its frames are valid.

        Returns False if the recording ends at an invalid frame of the piece.
        """
        offset, length = self.end - self._base, end - self.end
        found = check_sum(self._data, offset, length)
        is_border = bool(flags & MESSAGE_BORDER)
        if found != crc32:
            self._scanner.scan(self._data, offset, length, self.end)
            if self._scanner.fault == faults.NO_FAULT:
                # The flags of its last frame may be what has changed.
                is_border = self._scanner.border_length == length
                self._note(end)
            elif self._ends_at_fault:
                self._add(self.end + self._scanner.border_length, time_ns, MESSAGE_BORDER)
                return False
            else:
                found = crc32
        self._entries.append(_AcceptedEntry(end, time_ns, found, is_border))
        self.end = end
        return True

    def _cover_rest(self, time_ns: int) -> None:
        """Add entries for data without a checksum, up to the first invalid frame."""
        while self.end < self._stop:
            length = min(MAX_COVERED_LENGTH, self._stop - self.end)
            scanned = self._scan(self.end, self.end + length)
            if scanned == 0:
                return
            is_border = scanned == self._scanner.border_length
            self._add(self.end + scanned, time_ns, MESSAGE_BORDER if is_border else 0)

    def _scan(self, begin: int, end: int) -> int:
        """Scan the frames from `begin` up to `end`; return the bytes of whole frames.

        Padding whose body is not in the file is no whole frame.
        """
        offset = begin - self._base
        scanned = self._scanner.scan(self._data, offset, end - begin, begin)
        if begin + scanned <= self._stop:
            return scanned
        last = following = 0
        while following < scanned:
            last, following = (
                following,
                following + positions.align_frame(self._data.get_i32(offset + following)),
            )
        return self._scanner.scan(self._data, offset, last, begin)

    def _add(self, end: int, time_ns: int, flags: int) -> None:
        if end > self.end:
            crc32 = check_sum(self._data, self.end - self._base, end - self.end)
            self._entries.append(_AcceptedEntry(end, time_ns, crc32, bool(flags)))
            self._note(end)
            self.end = end

    def _end_at_message(self) -> None:
        """Drop what follows the last whole message: a reader would wait for its rest. Messages never span files."""
        dropped = []
        while self._entries and not self._entries[-1].is_border:
            dropped.append(self._entries.pop())
        if not dropped:
            return
        begin = self._entries[-1].end if self._entries else self._recording.first_position(self._base)
        self._scan(begin, self.end)
        self.end = begin
        border = begin + self._scanner.border_length
        if border > begin:
            self._add(border, dropped[-1].time_ns, MESSAGE_BORDER)
        else:
            recording_id = self._recording.recording_id
            self.done.append(
                f"recording {recording_id} positions {begin} to {dropped[0].end}: no whole message"
            )

    def _note(self, end: int) -> None:
        recording_id = self._recording.recording_id
        self.done.append(f"recording {recording_id} positions {self.end} to {end}: accepted as they are")


def _data_of(store: FileStore, name: str) -> AtomicBuffer:
    path = store.local_path(name)
    if path is None:
        return AtomicBuffer(store.read(name))
    try:
        return open_mapped_file(path, read_only=True)
    except StorageError as error:
        # ENODATA: the file is empty. Any other error is raised, because the file may still have its data: if it were
        # taken as empty, the recording would end before that data.
        if error.errno != errno.ENODATA:
            raise
        return AtomicBuffer.allocate(0)
