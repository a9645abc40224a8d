"""Insertion of packets, which arrive in any order, at their positions in a term.

Source: aeron_term_rebuilder.h.
"""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer


def insert(
    buffer: AtomicBuffer, frame_offset: int, packet: AtomicBuffer, packet_offset: int, length: int
) -> bool:
    """Copy a packet of complete frames to `frame_offset` and return True; return False if a frame is already there.

    `length`: at least 32 bytes; the caller has checked that the packet lies within the term. One thread inserts into a
    term, any number read it.
    """
    # A plain load: only this thread stores lengths here. A duplicate, as after a retransmission, is not inserted.
    if buffer.get_i32(frame_offset) != 0:
        return False
    buffer.copy_from(
        frame_offset + wire.DATA_HEADER_LENGTH,
        packet,
        packet_offset + wire.DATA_HEADER_LENGTH,
        length - wire.DATA_HEADER_LENGTH,
    )
    # The first header follows in steps of 8 bytes, from its end to its start.
    buffer.put_i64(frame_offset + 24, packet.get_i64(packet_offset + 24))
    buffer.put_i64(frame_offset + 16, packet.get_i64(packet_offset + 16))
    buffer.put_i64(frame_offset + 8, packet.get_i64(packet_offset + 8))
    # Release: the first 8 bytes hold the length of the first frame. A reader stops there while it is zero, and so
    # never reaches the other frames of the packet, which are already in the term.
    buffer.put_i64_release(frame_offset, packet.get_i64(packet_offset))
    return True
