"""The index of a segment: which position was recorded when, and the check sums of what lies between.

An entry covers the bytes from the end of the entry before it, or from the segment's first frame. It is
written before a position is given out as recorded, at most once a millisecond unless a MiB has come.

    end position  int64     behind the last frame that it covers
    time          int64     nanoseconds since the epoch when that was recorded
    check sum     uint32    CRC-32 of the frames; of padding, of its header alone
    flags         uint32    1: the last frame ends a message
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

ENTRY: Final = np.dtype([("end_position", "<i8"), ("time_ns", "<i8"), ("crc32", "<u4"), ("flags", "<u4")])

#: The longest piece of a recording under one check sum, and the least time between two entries. Invented numbers:
#: 24 bytes a MiB are nothing, and a thousand entries a second are little for what they tell.
MAX_COVERED_LENGTH: Final = 1024 * 1024
MIN_INTERVAL_NS: Final = 1_000_000

MESSAGE_BORDER: Final = 1

IndexEntries = npt.NDArray[np.void]


def entry_bytes(end_position: int, time_ns: int, crc32: int, *, is_border: bool) -> bytes:
    """Return one entry as it is written."""
    return np.array([(end_position, time_ns, crc32, MESSAGE_BORDER if is_border else 0)], ENTRY).tobytes()


def entries_of(data: bytes) -> IndexEntries:
    """Return the entries in the bytes of an index file; one that was cut short is left out."""
    return np.frombuffer(data, ENTRY, len(data) // ENTRY.itemsize)


def sound_entries(entries: IndexEntries, base_position: int, segment_length: int) -> IndexEntries:
    """Return the entries up to the first that cannot follow the one before it."""
    ends = entries["end_position"]
    is_sound = (ends > base_position) & (ends <= base_position + segment_length)
    is_sound[1:] &= ends[1:] > ends[:-1]
    return entries if is_sound.all() else entries[: int(np.argmin(is_sound))]
