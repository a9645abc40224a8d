"""Zeroing of terms that every consumer has passed, before they are filled again.

Source: aeron_network_publication.c, aeron_network_publication_clean_buffer.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core.logbuffer.descriptor import LogBuffer


def clean_step(log: LogBuffer, clean_position: int, target_position: int) -> int:
    """Zero from `clean_position` towards `target_position`, at most to the end of the term; return the new position.

    `clean_position` is the result of the last call, or the position at which the stream or image starts, in bytes.
    `target_position` may come from a client, which may have stored anything: it is rounded down to a multiple of 32,
    and has no effect up to `clean_position`. One thread cleans a log.
    """
    target_position -= target_position & (wire.FRAME_ALIGNMENT - 1)
    if target_position <= clean_position:
        return clean_position
    left_in_term = log.term_length - (clean_position & log.term_length_mask)
    length = min(target_position - clean_position, left_in_term)
    offset = log.frame_offset(clean_position)
    # The first 8 bytes hold the first frame length. They are zeroed last.
    log.buffer.set_memory(offset + 8, length - 8, 0)
    # Release: a thread that loads the zero with acquire also sees the zeros after it, so that a scan never mistakes the
    # remains of an old frame for a new one.
    log.buffer.put_i64_release(offset, 0)
    return clean_position + length
