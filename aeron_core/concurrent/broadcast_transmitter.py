"""Send side of a broadcast buffer, by which a driver sends responses to all its clients.

Not here: receiving (broadcast_receiver). The transmitter never waits: a slow receiver is lapped and detects that.
Invariant: the tail intent is stored before any byte of the record. A receiver that copied a record and still sees the
old intent has an intact copy.

Source: aeron_broadcast_transmitter.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer, fence_release
from aeron_core.concurrent.records import align_record, message_bytes, read_position, record_capacity

if TYPE_CHECKING:
    from typing_extensions import Buffer


class BroadcastTransmitter:
    """The only transmitter on `buffer`: a power of two of bytes for records, then a trailer with the positions.

    Raises ConfigurationError for any other length of the buffer or fewer than 8 bytes for records, ProtocolError for a
    tail that no transmitter stores.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        self.buffer: Final = buffer
        self.capacity: Final = record_capacity(buffer, wire.BROADCAST_TRAILER_LENGTH)
        smallest = self.capacity == wire.RECORD_HEADER_LENGTH
        self.max_message_length: Final = 0 if smallest else self.capacity // 8
        # A copy of the tail: the transmitter must not depend on a field that every client can overwrite.
        self._tail = read_position(buffer, self.capacity + wire.BROADCAST_TAIL_OFFSET)

    def transmit(self, type_id: int, message: Buffer) -> None:
        """Send one message of at most `max_message_length` bytes. One thread only.

        Raises ConfigurationError for a longer message, or a type that is not from 1 to 2147483647; TypeError unless
        `message` is a contiguous buffer.
        """
        data = message_bytes(type_id, message, self.max_message_length)
        length = wire.RECORD_HEADER_LENGTH + len(data)
        aligned_length = align_record(length)
        start = self._tail
        index = start & (self.capacity - 1)
        to_end = self.capacity - index
        # A record never wraps: if it does not fit before the end, padding fills the rest and it starts at index 0.
        padding = to_end if to_end < aligned_length else 0

        tail_intent = start + padding + aligned_length
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_TAIL_INTENT_OFFSET, tail_intent)
        # The intent must become visible before the stores below. A release store orders only the stores before it,
        # hence the fence after it.
        fence_release()
        if padding:
            self._put_header(index, padding, wire.RECORD_PADDING_TYPE)
            start += padding
            index = 0
        self._put_header(index, length, type_id)
        self.buffer.put_bytes(index + wire.RECORD_HEADER_LENGTH, data)

        # Release: a receiver that loads the new tail with acquire also sees the record.
        # `latest` is stored before the tail: a receiver that was lapped continues there, with a complete record.
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_LATEST_OFFSET, start)
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_TAIL_OFFSET, tail_intent)
        self._tail = tail_intent

    def _put_header(self, index: int, length: int, type_id: int) -> None:
        self.buffer.put_i32(index + wire.RECORD_LENGTH_OFFSET, length)
        self.buffer.put_i32(index + wire.RECORD_TYPE_OFFSET, type_id)
