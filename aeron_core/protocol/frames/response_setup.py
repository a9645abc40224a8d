# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""RSP_SETUP: a receiver announces the session on which responses will arrive."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class ResponseSetup(Frame):
    """A frame from receiver to sender, in response to a SETUP with `wire.SETUP_FLAG_SEND_RESPONSE`."""

    session_id: int
    stream_id: int
    response_session_id: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return ("frame_length", "flags", "session_id", "stream_id", "response_session_id")

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_RSP_SETUP)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.RSP_SETUP_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.RSP_SETUP_STREAM_ID_OFFSET)
        # The driver that sent the requests binds its response subscription to this session, so that the subscription
        # receives only the responses to these requests.
        self.response_session_id = buffer.get_i32(offset + wire.RSP_SETUP_RESPONSE_SESSION_ID_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length in bytes, whatever `frame_length` is."""
        buffer.put_i32(offset + wire.RSP_SETUP_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.RSP_SETUP_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i32(offset + wire.RSP_SETUP_RESPONSE_SESSION_ID_OFFSET, self.response_session_id)
        return put_header(buffer, offset, wire.RSP_SETUP_HEADER_LENGTH, self.flags, wire.TYPE_RSP_SETUP)
