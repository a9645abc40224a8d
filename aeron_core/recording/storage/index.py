"""Index of a segment: recording times of positions, and checksums of the bytes between them.

An entry covers the bytes from the end of the previous entry, or from the segment's first frame. It is written
when 1 MiB or more is not covered, when a message ends a millisecond or more after the last entry, before each flush
to disk, and at the end of a segment or recording.

    end position  int64     after the last frame that it covers
    time          int64     when it was recorded, nanoseconds since the epoch
    checksum      uint32    CRC-32 of the frames; for padding, of its header only
    flags         uint32    1: the last frame ends a message or is padding
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from aeron_core._native import wire
from aeron_core.errors import RecordingNotFoundError
from aeron_core.recording.storage.file_store import FileStore

ENTRY: Final = np.dtype([("end_position", "<i8"), ("time_ns", "<i8"), ("crc32", "<u4"), ("flags", "<u4")])

#: An entry is due if at least this many bytes have none, or if this much time has passed since the last entry and the
#: data ends with a whole message. Invented numbers: the index stays small, 24 bytes per MiB, or about a thousand
#: entries per second unless each write is flushed.
MAX_COVERED_LENGTH: Final = 1024 * 1024
MIN_INTERVAL_NS: Final = 1_000_000

MESSAGE_BORDER: Final = 1

#: Entries that a reader of new data reads first, from the end. An invented number: those of two seconds, 48 kB.
_LAST_ENTRIES: Final = 2000

IndexEntries = npt.NDArray[np.void]


def entry_bytes(end_position: int, time_ns: int, crc32: int, *, is_border: bool) -> bytes:
    """Return the 24 bytes of one entry; `is_border`: the last frame that it covers ends a message or is padding."""
    return np.array([(end_position, time_ns, crc32, MESSAGE_BORDER if is_border else 0)], ENTRY).tobytes()


def entries_of(data: bytes) -> IndexEntries:
    """Return the entries of an index file; an incomplete last entry is ignored."""
    return np.frombuffer(data, ENTRY, len(data) // ENTRY.itemsize)


def sound_entries(entries: IndexEntries, first_position: int, segment_end: int) -> IndexEntries:
    """Return the entries before the first invalid one.

    Ends must be multiples of 32, grow, be after `first_position`, that of the segment's first frame, and at most
    `segment_end`.
    """
    ends = entries["end_position"]
    is_sound = (ends > first_position) & (ends <= segment_end)
    is_sound &= ends % wire.FRAME_ALIGNMENT == 0
    is_sound[1:] &= ends[1:] > ends[:-1]
    return entries if is_sound.all() else entries[: int(np.argmin(is_sound))]


def read_entries(store: FileStore, name: str, first_position: int, segment_end: int) -> IndexEntries:
    """Return the entries of an index file before the first invalid one; empty if the file is missing."""
    length = _length_of(store, name, segment_end - first_position)
    return sound_entries(_read(store, name, 0, length), first_position, segment_end)


def read_last_entries(
    store: FileStore, name: str, first_position: int, segment_end: int, position: int
) -> IndexEntries:
    """Return the last entries of an index file, before the first invalid one; empty if the file is missing.

    The first of them ends at or before `position`, unless it is the first of the segment. Only the end of
    the file is read, as far as this requires.
    """
    length = _length_of(store, name, segment_end - first_position)
    wanted = _LAST_ENTRIES
    while True:
        begin = max(length - wanted * ENTRY.itemsize, 0)
        entries = _read(store, name, begin, length - begin)
        if begin == 0 or (len(entries) and entries["end_position"][0] <= position):
            return sound_entries(entries, first_position, segment_end)
        wanted *= 4


def _length_of(store: FileStore, name: str, data_length: int) -> int:
    # Each entry covers at least one frame. A longer file is damaged, and is not read to its end.
    most = data_length // wire.DATA_HEADER_LENGTH * ENTRY.itemsize
    length = min(max(store.size(name), 0), most)
    return length - length % ENTRY.itemsize


def _read(store: FileStore, name: str, begin: int, length: int) -> IndexEntries:
    try:
        return entries_of(store.read(name, begin, length))
    except RecordingNotFoundError:
        return np.empty(0, ENTRY)
