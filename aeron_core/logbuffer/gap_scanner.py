"""Where the first frames of a term are missing.

Source: aeron_term_gap_scanner.h.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer


def scan_for_gap(buffer: AtomicBuffer, partition_offset: int, term_offset: int, limit_offset: int) -> int:
    """Return a pair of the term offset up to which frames are contiguous and the length of the gap there.

    Scans the term at `partition_offset` of the buffer from `term_offset` up to `limit_offset`, the end of the
    term at most; the gap is 0 bytes long when nothing is missing before the limit.
    """
    offset = term_offset
    while offset < limit_offset:
        frame_length = buffer.get_i32_acquire(partition_offset + offset)
        if frame_length <= 0:
            break
        offset += positions.align_frame(frame_length)
    if offset >= limit_offset:
        # A frame ends at the limit or before it, unless its length is a lie of the peer.
        return positions.pack_pair(limit_offset if offset > limit_offset else offset, 0)
    gap_offset = offset
    offset += wire.FRAME_ALIGNMENT
    # A frame may start wherever 32 divides the offset; where none has come, the cleaning left a zero.
    while offset < limit_offset and buffer.get_i32_acquire(partition_offset + offset) == 0:
        offset += wire.FRAME_ALIGNMENT
    return positions.pack_pair(gap_offset, offset - gap_offset)
