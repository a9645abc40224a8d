"""Padding for gaps in a term: frames that will never arrive, or never be completed.

Source: aeron_term_gap_filler.c.
"""

from __future__ import annotations

from aeron_core._native import positions, wire
from aeron_core.logbuffer.descriptor import LogBuffer


def try_fill_gap(log: LogBuffer, term_id: int, gap_offset: int, gap_length: int) -> bool:
    """Replace a gap by one padding frame and return True; return False if a frame arrived in it meanwhile.

    `gap_offset` and `gap_length`: bytes of the term, multiples of 32. Called by the thread that also inserts into the
    term.
    """
    index = positions.index_by_term(log.initial_term_id, term_id)
    begin = positions.partition_offset(index, log.term_length) + gap_offset
    # Frames may start at any multiple of 32: the gap is open only if no length was stored at any of them.
    offset = begin + gap_length - wire.FRAME_ALIGNMENT
    while offset >= begin:
        # A plain load: this thread also inserts, so it sees its own stores.
        if log.buffer.get_i32(offset) != 0:
            return False
        offset -= wire.FRAME_ALIGNMENT
    put_padding(log, begin, term_id, gap_offset, gap_length)
    return True


def put_padding(log: LogBuffer, frame_offset: int, term_id: int, term_offset: int, length: int) -> int:
    """Store a padding frame of `length` bytes, header included, made from the default header; return 0.

    `frame_offset` is the frame's offset in the buffer of the log, `term_offset` that in its term.
    """
    log.apply_default_header(frame_offset)
    log.buffer.put_u16(frame_offset + wire.FRAME_TYPE_OFFSET, wire.TYPE_PAD)
    log.buffer.put_i32(frame_offset + wire.DATA_TERM_OFFSET_OFFSET, term_offset)
    log.buffer.put_i32(frame_offset + wire.DATA_TERM_ID_OFFSET, term_id)
    # Release: a reader that loads the length with acquire also sees the type, and skips the frame.
    return log.buffer.put_i32_release(frame_offset, length)
