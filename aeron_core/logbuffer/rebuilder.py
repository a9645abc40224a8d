"""Puts packets, which arrive in any order, where they belong in a term.

Source: aeron_term_rebuilder.h.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer


def insert(
    buffer: AtomicBuffer, frame_offset: int, packet: AtomicBuffer, packet_offset: int, length: int
) -> bool:
    """Copy a packet of whole frames to `frame_offset`; return False when a frame is there already.

    `length`: 32 at least; the caller has checked that the packet lies within the term. One thread inserts
    into a term, any number read it.
    """
    if buffer.get_i32(frame_offset) != 0:
        return False
    buffer.copy_from(
        frame_offset + wire.DATA_HEADER_LENGTH,
        packet,
        packet_offset + wire.DATA_HEADER_LENGTH,
        length - wire.DATA_HEADER_LENGTH,
    )
    buffer.put_i64(frame_offset + 24, packet.get_i64(packet_offset + 24))
    buffer.put_i64(frame_offset + 16, packet.get_i64(packet_offset + 16))
    buffer.put_i64(frame_offset + 8, packet.get_i64(packet_offset + 8))
    # Release: the first word holds the length of the first frame. A reader stops before it as long as it is
    # zero, and so never comes to the other frames of the packet, whose lengths are in the term already.
    buffer.put_i64_release(frame_offset, packet.get_i64(packet_offset))
    return True
