"""Search for the frames of a term that the sender may send next.

Source: aeron_term_scanner.h.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer


def scan_for_availability(
    buffer: AtomicBuffer, frame_offset: int, term_length_left: int, max_length: int
) -> int:
    """Return `positions.pack_pair(padding, available)` for the whole frames from `frame_offset` on.

    `available`: bytes to send, at most `max_length` and never past the `term_length_left` bytes of the term;
    if the first frame alone needs more than `max_length`, minus that number. `padding`: bytes after them that
    the sender skips: a padding frame ends the scan, and only its header is sent.
    """
    limit = min(max_length, term_length_left)
    available = 0
    while available < limit:
        # Acquire: pairs with the release of the publisher that completes the frame. If the length is not positive, the
        # frame is not complete: it and everything after it must wait.
        frame_length = buffer.get_i32_acquire(frame_offset + available)
        if frame_length <= 0:
            break
        # Bounded by the term: the length may be corrupt.
        aligned_length = min(positions.align_frame(frame_length), term_length_left - available)
        frame_type = buffer.get_u16(frame_offset + available + wire.FRAME_TYPE_OFFSET)
        sent_length = aligned_length
        if frame_type == wire.TYPE_PAD:
            sent_length = wire.DATA_HEADER_LENGTH
        if available + sent_length > limit:
            return positions.pack_pair(0, available if available > 0 else -sent_length)
        available += sent_length
        if frame_type == wire.TYPE_PAD:
            return positions.pack_pair(aligned_length - sent_length, available)
    return positions.pack_pair(0, available)
