"""Sends messages to any number of receivers that it does not know: how a driver answers its clients.

Not here: receiving (broadcast_receiver). Nobody is waited for: who is slow is overrun and finds out.
Invariant: the tail intent is stored before a byte of the record, so that a receiver that still sees the old
intent after it copied a record has copied the record as it was.

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
    """The one sender on `buffer`: a power of two of bytes for records, then a trailer with the positions.

    Raises ConfigurationError for another length of the buffer.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        self.buffer: Final = buffer
        self.capacity: Final = record_capacity(buffer, wire.BROADCAST_TRAILER_LENGTH)
        smallest = self.capacity == wire.RECORD_HEADER_LENGTH
        self.max_message_length: Final = 0 if smallest else self.capacity // 8
        # Kept here, too: receivers may write to the buffer, and what they write must not move us.
        self._tail = read_position(buffer, self.capacity + wire.BROADCAST_TAIL_OFFSET)

    def transmit(self, type_id: int, message: Buffer) -> None:
        """Send one message. Raises ConfigurationError for a type below 1 and for a message that is too long.

        One thread only.
        """
        data = message_bytes(type_id, message, self.max_message_length)
        length = wire.RECORD_HEADER_LENGTH + len(data)
        room = align_record(length)
        start = self._tail
        index = start & (self.capacity - 1)
        to_end = self.capacity - index
        padding = to_end if to_end < room else 0

        tail_intent = start + padding + room
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_TAIL_INTENT_OFFSET, tail_intent)
        # The store above must be seen before those below: its own release order covers only earlier ones.
        fence_release()
        if padding:
            self._put_header(index, padding, wire.RECORD_PADDING_TYPE)
            start += padding
            index = 0
        self._put_header(index, length, type_id)
        self.buffer.put_bytes(index + wire.RECORD_HEADER_LENGTH, data)

        # Release: a receiver that sees the tail sees the record.
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_LATEST_OFFSET, start)
        self.buffer.put_i64_release(self.capacity + wire.BROADCAST_TAIL_OFFSET, tail_intent)
        self._tail = tail_intent

    def _put_header(self, index: int, length: int, type_id: int) -> None:
        self.buffer.put_i32(index + wire.RECORD_LENGTH_OFFSET, length)
        self.buffer.put_i32(index + wire.RECORD_TYPE_OFFSET, type_id)
