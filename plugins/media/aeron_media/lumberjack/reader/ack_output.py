"""Acknowledgements that wait for the socket of a reader's connection, as encoded frames.

Not here: those that wait for subscribers (`ack_queue`), which of them are due (`reader_connection`), and their encoding
(`codec.acks`).
"""

from __future__ import annotations

from aeron_core._native import connections
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.connections import ByteConnection
from aeron_media.lumberjack._native import bounds, wire
from aeron_media.lumberjack.codec.acks import encode_ack


class AckOutput:
    """A buffer of A frames, OUTPUT_LENGTH bytes, emptied completely before its space is reused. Used by the receiver.

    `stuck_ns`: start of the time without progress, while the buffer is not empty.
    """

    def __init__(self) -> None:
        self._buffer = AtomicBuffer.allocate(bounds.OUTPUT_LENGTH)
        self._start = 0
        self._end = 0
        self.stuck_ns = 0

    def clear(self) -> int:
        """Drop all frames; return 0."""
        self._start = 0
        self._end = 0
        return 0

    def is_empty(self) -> bool:
        """Return whether all frames are sent."""
        return self._end == 0

    def has_space(self) -> bool:
        """Return whether another acknowledgement fits."""
        return self._end + wire.SHORT_FRAME_LENGTH <= bounds.OUTPUT_LENGTH

    def put(self, version: int, sequence: int, now_ns: int) -> int:
        """Add an acknowledgement, see `encode_ack`, for which there must be space; return 0."""
        if self._end == 0:
            self.stuck_ns = now_ns
        self._end += encode_ack(self._buffer, self._end, version, sequence)
        return 0

    def write(self, connection: ByteConnection, now_ns: int) -> int:
        """Write the A frames to the socket, as far as it accepts them.

        Returns the number of bytes, 0 if none, or CONNECTION_FAILED.
        """
        if self._end == self._start:
            return 0
        sent = connection.send(self._buffer, self._start, self._end - self._start)
        if sent != connections.CONNECTION_FAILED and sent > 0:
            self.stuck_ns = now_ns
            self._start += sent
            if self._start == self._end:
                self.clear()
        return sent
