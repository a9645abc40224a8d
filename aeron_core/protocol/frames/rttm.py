# cython: nonecheck=True
# With this check, a buffer that is None raises AttributeError instead of crashing the process.
"""RTTM: measures the round-trip time between a receiver and its sender, or the one-way latency."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames.header import Frame, expect, put_header


class Rttm(Frame):
    """A request if `flags` has `wire.RTTM_FLAG_REPLY`; the reply, without it, echoes the timestamp.

    A sender's reply also echoes the receiver id. Its frame with receiver id 0 and no flag measures the
    one-way latency.
    """

    session_id: int
    stream_id: int
    echo_timestamp: int
    reception_delta: int
    receiver_id: int

    def names(self) -> tuple[str, ...]:
        """Return the names of the fields in wire order."""
        return (
            "frame_length",
            "flags",
            "session_id",
            "stream_id",
            "echo_timestamp",
            "reception_delta",
            "receiver_id",
        )

    def decode(self, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Read the packet of `length` bytes at `offset`; return FRAME_ACCEPTED, or a negative `wire.FRAME_…`."""
        result = expect(buffer, offset, length, wire.TYPE_RTTM)
        if result < 0:
            return result
        self.frame_length = buffer.get_i32(offset + wire.FRAME_LENGTH_OFFSET)
        self.flags = buffer.get_u8(offset + wire.FRAME_FLAGS_OFFSET)
        self.session_id = buffer.get_i32(offset + wire.RTTM_SESSION_ID_OFFSET)
        self.stream_id = buffer.get_i32(offset + wire.RTTM_STREAM_ID_OFFSET)
        # The reply returns the timestamp unchanged, so the clocks of both sides need not agree. The requester subtracts
        # `reception_delta` from the round trip; it is 0 in the replies of the reference.
        self.echo_timestamp = buffer.get_i64(offset + wire.RTTM_ECHO_TIMESTAMP_OFFSET)
        self.reception_delta = buffer.get_i64(offset + wire.RTTM_RECEPTION_DELTA_OFFSET)
        self.receiver_id = buffer.get_i64(offset + wire.RTTM_RECEIVER_ID_OFFSET)
        return wire.FRAME_ACCEPTED

    def encode(self, buffer: AtomicBuffer, offset: int) -> int:
        """Write the frame at `offset` and return its length in bytes, whatever `frame_length` is."""
        buffer.put_i32(offset + wire.RTTM_SESSION_ID_OFFSET, self.session_id)
        buffer.put_i32(offset + wire.RTTM_STREAM_ID_OFFSET, self.stream_id)
        buffer.put_i64(offset + wire.RTTM_ECHO_TIMESTAMP_OFFSET, self.echo_timestamp)
        buffer.put_i64(offset + wire.RTTM_RECEPTION_DELTA_OFFSET, self.reception_delta)
        buffer.put_i64(offset + wire.RTTM_RECEIVER_ID_OFFSET, self.receiver_id)
        return put_header(buffer, offset, wire.RTTM_HEADER_LENGTH, self.flags, wire.TYPE_RTTM)

    def is_for(self, receiver_id: int) -> bool:
        """Return whether the frame is addressed to the receiver with this id; id 0 addresses all receivers."""
        return self.receiver_id in (receiver_id, 0)
