"""Padding over claims that a crashed publisher will never complete.

Not here: when a publisher counts as crashed (`PublicationLifecycle`).

The length at the blocked offset shows what was claimed:

    negative  the publisher had begun to write: the negated value is the length of its claim
    zero      the publisher had only moved the tail: the claim ends at the next frame begun by another publisher, or at
              the end of the term if no frame follows and the tail has passed the term
    positive  the frame is complete after all: nothing to do

Source: aeron_term_unblocker.c, aeron_logbuffer_unblocker.c.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.logbuffer.descriptor import LogBuffer
from aeron_core.logbuffer.gap_filler import put_padding


def unblock(log: LogBuffer, blocked_position: int) -> bool:
    """Unblock the stream at `blocked_position`; return whether anything was done.

    `blocked_position` is that of the sender, of the furthest subscriber of an IPC stream, or of the first
    gap. One thread at a time calls it for a log.
    """
    bits = log.position_bits_to_shift
    # With 0 as the initial term id, the result is the number of terms before the position.
    blocked_term_count = positions.compute_term_id(blocked_position, bits, 0)
    blocked_index = positions.index_by_term_count(blocked_term_count)
    active_term_count = log.active_term_count_acquire()
    raw_tail = log.raw_tail_acquire(blocked_index)
    term_id = positions.raw_tail_term_id(raw_tail)
    tail_offset = positions.raw_tail_term_offset(raw_tail, log.term_length)
    blocked_offset = positions.compute_term_offset(blocked_position, bits)

    # A publisher filled the term and crashed before it rotated the log.
    if blocked_offset == 0 and positions.add_wrap(active_term_count, 1) == blocked_term_count:
        active_tail = log.raw_tail_acquire(positions.index_by_term_count(active_term_count))
        log.rotate(active_term_count, positions.raw_tail_term_id(active_tail))
        return True

    begin = positions.partition_offset(blocked_index, log.term_length)
    length = unblock_term(log, begin, blocked_offset, tail_offset, term_id)
    if length == 0:
        return False
    # The padding ends the term: the publisher that crashed may have had to rotate the log.
    if blocked_offset + length == log.term_length:
        log.rotate(blocked_term_count, term_id)
    return True


def unblock_for_good(log: LogBuffer, blocked_position: int) -> bool:
    """Pad from `blocked_position`, a gap, to the tail of its term, and return True; for a log without publishers.

    Returns False if the frame there is complete, or the tail is not beyond it. One thread at a time.
    """
    bits = log.position_bits_to_shift
    index = positions.index_by_position(blocked_position, bits)
    raw_tail = log.raw_tail_acquire(index)
    tail_offset = positions.raw_tail_term_offset(raw_tail, log.term_length)
    blocked_offset = positions.compute_term_offset(blocked_position, bits)
    # No publisher is left to complete anything before the tail.
    length = tail_offset - blocked_offset
    if length <= 0 or log.buffer.get_i32_acquire(log.frame_offset(blocked_position)) > 0:
        return False
    put_padding(
        log,
        positions.partition_offset(index, log.term_length) + blocked_offset,
        positions.raw_tail_term_id(raw_tail),
        blocked_offset,
        length,
    )
    return True


def first_gap(log: LogBuffer, position: int, end: int) -> int:
    """Return the position of the first incomplete frame from `position` on.

    If no frame before `end` is incomplete, return where the last of them ends, `end` or later.
    """
    while position < end:
        length = log.buffer.get_i32_acquire(log.frame_offset(position))
        if length <= 0:
            break
        position += positions.align_frame(length)
    return position


def unblock_term(
    log: LogBuffer, partition_offset: int, blocked_offset: int, tail_offset: int, term_id: int
) -> int:
    """Put padding over the claim at `blocked_offset` of a term and return its length in bytes.

    Returns 0 if the frame there is complete, or the end of the claim is not known yet.
    """
    left_in_term = log.term_length - blocked_offset
    begin = partition_offset + blocked_offset
    length = log.buffer.get_i32_acquire(begin)
    if length > 0:
        return 0
    if length < 0:
        # `-length` would overflow for the lowest int32, which has no positive counterpart. Here it stays negative and
        # is treated as corrupt below.
        length = positions.subtract_wrap(0, length)
    else:
        length = _find_hole(
            log.buffer, begin, partition_offset + tail_offset, partition_offset + log.term_length
        )
    # No claim exceeds its term: such a length is corrupt, and so are the frames after it.
    if length < 0 or length > left_in_term:
        length = left_in_term
    if length > 0:
        put_padding(log, begin, term_id, blocked_offset, length)
    return length


def _find_hole(buffer: AtomicBuffer, begin: int, tail: int, end: int) -> int:
    # Frames begin at multiples of 32: only these offsets can hold the length of another one.
    offset = begin + wire.FRAME_ALIGNMENT
    while offset < tail and buffer.get_i32_acquire(offset) == 0:
        offset += wire.FRAME_ALIGNMENT
    if offset < tail:
        # Scan back: live publishers may have begun frames in between after the first scan had passed them.
        behind = offset - wire.FRAME_ALIGNMENT
        while behind >= begin:
            if buffer.get_i32_acquire(behind) != 0:
                return 0
            behind -= wire.FRAME_ALIGNMENT
        return offset - begin
    if offset == end and buffer.get_i32_acquire(begin) == 0:
        return end - begin
    return 0
