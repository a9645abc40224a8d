# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""NAK: a receiver requests the retransmission of a gap."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class Nak(Frame):
    """A frame from receiver to sender: the next gap to fill."""

    session_id: int
    stream_id: int
    term_id: int
    term_offset: int
    length: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return ("frame_length", "flags", "session_id", "stream_id", "term_id", "term_offset", "length")

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_NAK)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.NAK_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.NAK_STREAM_ID_OFFSET)
        self.term_id = buffer.get_i32(offset + wire.NAK_TERM_ID_OFFSET)
        self.term_offset = buffer.get_i32(offset + wire.NAK_TERM_OFFSET_OFFSET)
        # Bytes of the term: headers and alignment are included.
        self.length = buffer.get_i32(offset + wire.NAK_LENGTH_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length in bytes, whatever `frame_length` is."""
        buffer.put_i32(offset + wire.NAK_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.NAK_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i32(offset + wire.NAK_TERM_ID_OFFSET, self.term_id)
        buffer.put_i32(offset + wire.NAK_TERM_OFFSET_OFFSET, self.term_offset)
        buffer.put_i32(offset + wire.NAK_LENGTH_OFFSET, self.length)
        return put_header(buffer, offset, wire.NAK_HEADER_LENGTH, self.flags, wire.TYPE_NAK)

    def is_valid(self, term_length: int) -> bool:
        """Return whether the gap begins at a multiple of 32 and lies within a term of `term_length` bytes.

        Source: aeron_send_channel_endpoint.c, aeron_send_channel_endpoint_is_valid_nak.
        """
        end = self.term_offset  # in 64 bits: the peer chose both summands
        end += self.length
        return (
            0 <= self.term_offset < term_length
            and self.term_offset & (wire.FRAME_ALIGNMENT - 1) == 0
            and self.length >= 0
            and end <= term_length
        )
