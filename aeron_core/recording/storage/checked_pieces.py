"""Checks of what is read from a recording against the checksums of its index.

An index has a checksum for each piece of a segment, from the end of one entry up to that of the next. Reads end at the
end of a piece, so that data is checked while it is in the cache. A piece that extends beyond the range to read is read
and checked separately.

Not here: reading (recording), and a list of all faults (verification). Invariant: bytes that passed `check` match the
checksums of the index, except those that the index of a live recording does not cover yet.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import CorruptRecordingError
from aeron_core.recording._native import faults
from aeron_core.recording.storage.check_sums import first_wrong
from aeron_core.recording.storage.recording import Recording


class CheckedPieces:
    """The pieces of one recording from `begin` up to `end`; one thread uses it.

    Its creation raises the errors of `Recording.read`; so do the methods, and CorruptRecordingError for a
    wrong checksum.
    """

    def __init__(self, recording: Recording, begin: int, end: int) -> None:
        recording.check_extent(begin, end)
        self._recording = recording
        self._begin = begin
        self._end = end
        self._base = -1
        self._first_position = 0
        self._ends: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._entries = AtomicBuffer.allocate(0)

    def reach(self, position: int, limit: int) -> int:
        """Return the position at which a read from `position` has to end: the last end of a piece up to `limit`.

        If there is none, it is the end of the piece that holds `position`, or `limit` if no piece does. It is at most
        the end of the range and of the segment.
        """
        self._load(position)
        limit = min(limit, self._end, self._base + self._recording.descriptor.segment_length)
        entry = self._entry_at(position)
        if entry == len(self._ends):
            return limit
        last = self._entry_at(limit) - 1  # the last that ends there or before
        return int(self._ends[last]) if last >= entry else min(int(self._ends[entry]), self._end)

    def check(self, position: int, data: AtomicBuffer, offset: int, length: int) -> None:
        """Raise CorruptRecordingError if a checksum of `length` bytes at `offset` of `data` is wrong.

        They were read from `position` up to the result of `reach`.
        """
        first = self._entry_at(position)
        if self._begin_of(first) < position:
            first += 1  # it begins before the range, and was checked separately
        last = self._entry_at(position + length)
        if first < last:
            self._check_entries(first, last, data, offset + self._begin_of(first) - position)

    def _load(self, position: int) -> None:
        base = self._recording.segment_base(position)
        if base == self._base:
            return
        self._first_position, entries = self._recording.covering_entries(position)
        self._ends = entries["end_position"].copy()
        self._entries = AtomicBuffer(entries.tobytes())
        self._base = base
        for entry in {self._entry_at(border) for border in (self._begin, self._end) if border > base}:
            if entry < len(self._ends):
                self._check_edge(entry)

    def _check_edge(self, entry: int) -> None:
        """Read and check a piece if a part of it is outside the range; raises as `check`."""
        begin, end = self._begin_of(entry), int(self._ends[entry])
        if begin >= self._end or (begin >= self._begin and end <= self._end):
            return
        data = AtomicBuffer.allocate(end - begin)
        self._recording.read_into(begin, memoryview(data))
        self._check_entries(entry, entry + 1, data, 0)

    def _check_entries(self, first: int, last: int, data: AtomicBuffer, offset: int) -> None:
        wrong = first_wrong(self._entries, first, last, data, offset, self._begin_of(first))
        if wrong < 0:
            return
        begin, end = self._begin_of(wrong), int(self._ends[wrong])
        scanner = self._recording.scanner()
        scanned = scanner.scan(data, offset + begin - self._begin_of(first), end - begin, begin)
        if scanner.fault == faults.NO_FAULT:
            scanned, text = 0, f"the frames up to {end} do not have the checksum of the index"
        else:
            text = scanner.fault_text()
        raise CorruptRecordingError(
            f"recording {self._recording.recording_id} position {begin + scanned}: {text}; restore the file from "
            "a copy, or read another part; `aeron-core recordings verify` lists all faults"
        )

    def _entry_at(self, position: int) -> int:
        """Return the number of the entry whose piece holds `position`; the count of entries if none does."""
        return int(np.searchsorted(self._ends, position, "right"))

    def _begin_of(self, entry: int) -> int:
        return self._first_position if entry == 0 else int(self._ends[entry - 1])


def checked_chunks(
    recording: Recording, begin: int, end: int, chunk_length: int
) -> Iterator[tuple[int, bytes]]:
    """Yield chunks (position, bytes) of the recording from `begin` up to `end`, each checked.

    A chunk has at most `chunk_length` bytes, unless a single piece is longer. Raises the errors of `CheckedPieces`.
    """
    pieces = CheckedPieces(recording, begin, end)
    position = begin
    while position < end:
        reach = pieces.reach(position, position + chunk_length)
        for at, data in recording.read(position, reach, reach - position):
            pieces.check(at, AtomicBuffer(data), 0, len(data))
            yield at, data
        position = reach
