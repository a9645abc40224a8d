"""Search for the first missing frames of a term.

Source: aeron_term_gap_scanner.h.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer


def scan_for_gap(buffer: AtomicBuffer, partition_offset: int, term_offset: int, limit_offset: int) -> int:
    """Return `positions.pack_pair(offset, length)`: the term offset where contiguous frames end, and the gap there.

    Both are bytes. Scans the term at `partition_offset` of the buffer from `term_offset` up to `limit_offset`, at most
    the end of the term. The gap has length 0 if nothing is missing before the limit.
    """
    offset = term_offset
    while offset < limit_offset:
        # Acquire, as in the reference; a plain load would do for the thread that also inserts.
        frame_length = buffer.get_i32_acquire(partition_offset + offset)
        if frame_length <= 0:
            break
        offset += positions.align_frame(frame_length)
    if offset >= limit_offset:
        # Frames end at or before the limit, unless the peer sent a wrong length.
        return positions.pack_pair(limit_offset if offset > limit_offset else offset, 0)
    gap_offset = offset
    offset += wire.FRAME_ALIGNMENT
    # A frame may start at any multiple of 32. The cleaned term has zeros until a frame arrives.
    while offset < limit_offset and buffer.get_i32_acquire(partition_offset + offset) == 0:
        offset += wire.FRAME_ALIGNMENT
    return positions.pack_pair(gap_offset, offset - gap_offset)
