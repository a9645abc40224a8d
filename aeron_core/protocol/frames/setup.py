# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""SETUP: a sender describes its stream, so that a receiver can create an image of it."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class Setup(Frame):
    """A frame from sender to receiver: every 100 ms until the first status message, and when a receiver requests it."""

    term_offset: int
    session_id: int
    stream_id: int
    initial_term_id: int
    active_term_id: int
    term_length: int
    mtu: int
    ttl: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return (
            "frame_length",
            "flags",
            "term_offset",
            "session_id",
            "stream_id",
            "initial_term_id",
            "active_term_id",
            "term_length",
            "mtu",
            "ttl",
        )

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_SETUP)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        # SEND_RESPONSE: the publication expects responses. GROUP: the sender has group semantics; unless `group` is set
        # on the subscription, the receiver then treats the image like a multicast one.
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.term_offset = buffer.get_i32(offset + wire.SETUP_TERM_OFFSET_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.SETUP_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.SETUP_STREAM_ID_OFFSET)
        self.initial_term_id = buffer.get_i32(offset + wire.SETUP_INITIAL_TERM_ID_OFFSET)
        self.active_term_id = buffer.get_i32(offset + wire.SETUP_ACTIVE_TERM_ID_OFFSET)
        self.term_length = buffer.get_i32(offset + wire.SETUP_TERM_LENGTH_OFFSET)
        self.mtu = buffer.get_i32(offset + wire.SETUP_MTU_OFFSET)
        self.ttl = buffer.get_i32(offset + wire.SETUP_TTL_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length in bytes, whatever `frame_length` is."""
        buffer.put_i32(offset + wire.SETUP_TERM_OFFSET_OFFSET, self.term_offset)
        buffer.put_i32(offset + wire.SETUP_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.SETUP_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i32(offset + wire.SETUP_INITIAL_TERM_ID_OFFSET, self.initial_term_id)
        buffer.put_i32(offset + wire.SETUP_ACTIVE_TERM_ID_OFFSET, self.active_term_id)
        buffer.put_i32(offset + wire.SETUP_TERM_LENGTH_OFFSET, self.term_length)
        buffer.put_i32(offset + wire.SETUP_MTU_OFFSET, self.mtu)
        buffer.put_i32(offset + wire.SETUP_TTL_OFFSET, self.ttl)
        return put_header(buffer, offset, wire.SETUP_HEADER_LENGTH, self.flags, wire.TYPE_SETUP)

    def is_valid(self) -> bool:
        """Return whether term length, term offset and mtu are allowed for an image; term ids are not checked.

        Source: aeron_receive_channel_endpoint.c, aeron_receive_channel_endpoint_is_valid_setup.
        """
        return (
            wire.TERM_MIN_LENGTH <= self.term_length <= wire.TERM_MAX_LENGTH
            # A power of two: positions are split into term and offset by shift and mask.
            and self.term_length & (self.term_length - 1) == 0
            and 0 <= self.term_offset < self.term_length
            and self.term_offset & (wire.FRAME_ALIGNMENT - 1) == 0
            # From the length of a header to the longest UDP payload, 65507 bytes rounded down to the alignment.
            and wire.DATA_HEADER_LENGTH <= self.mtu <= wire.MAX_UDP_PAYLOAD_LENGTH
            and self.mtu & (wire.FRAME_ALIGNMENT - 1) == 0
        )
