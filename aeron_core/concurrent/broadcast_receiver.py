"""Receives what a transmitter sends to everyone: how a client hears from a driver.

Not here: sending (broadcast_transmitter). Nothing that is written here is read by the transmitter.
Invariant: a message reaches the handler only as a copy that was whole: the transmitter had not begun to write
over the record when the copy was finished.

Source: aeron_broadcast_receiver.c.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer, fence_acquire
from aeron_core.concurrent.records import align_record, read_position, record_capacity
from aeron_core.errors import ProtocolError

LAPPED: Final = -1
"""What `receive` returns when messages were lost."""

# Source: AERON_BROADCAST_SCRATCH_BUFFER_LENGTH_DEFAULT in aeron_broadcast_receiver.h.
SCRATCH_LENGTH: Final = 4096

# Called with the type, the buffer, and offset and length of the message, which is valid during the call only.
MessageHandler = Callable[[int, AtomicBuffer, int, int], None]


class BroadcastReceiver:
    """One reader of `buffer`, from the latest message on: that one may be older than this receiver.

    Raises ConfigurationError for a length of the buffer that is no power of two plus the trailer, and
    ProtocolError for positions that no transmitter stores.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        self._buffer = buffer
        self.capacity: Final = record_capacity(buffer, wire.BROADCAST_TRAILER_LENGTH)
        self._next = read_position(buffer, self.capacity + wire.BROADCAST_LATEST_OFFSET)
        self._scratch = AtomicBuffer.allocate(SCRATCH_LENGTH)
        self._lapped_count = 0

    @property
    def lapped_count(self) -> int:
        """How often the transmitter came round before this receiver had read."""
        return self._lapped_count

    def receive(self, handler: MessageHandler) -> int:
        """Call `handler` for the next message; return 1, 0 where there is none, or LAPPED.

        LAPPED says that messages are missing: the next call goes on with the latest one. Raises ProtocolError
        for a record that cannot be and leaves out all that was sent so far. One thread only.
        """
        tail = read_position(self._buffer, self.capacity + wire.BROADCAST_TAIL_OFFSET)
        if tail <= self._next:
            return 0
        try:
            copied = self._copy(self._next, tail)
        except ProtocolError:
            if self._is_intact(self._next):
                self._next = tail
                raise
            copied = None
        if copied is None:
            self._lapped_count += 1
            self._next = read_position(self._buffer, self.capacity + wire.BROADCAST_LATEST_OFFSET)
            return LAPPED
        type_id, length, self._next = copied
        handler(type_id, self._scratch, 0, length)
        return 1

    def _copy(self, position: int, tail: int) -> tuple[int, int, int] | None:
        """Copy the message at `position` or behind the padding there; return its type, length and end.

        Returns None where the transmitter was faster.
        """
        type_id, length = self._header(position, tail)
        if type_id == wire.RECORD_PADDING_TYPE:
            # The padding is overrun before the record behind it: that one being intact proves nothing here.
            if not self._is_intact(position):
                return None
            position += align_record(length)
            type_id, length = self._header(position, tail)
        message_length = length - wire.RECORD_HEADER_LENGTH
        self._reserve(message_length)
        index = position & (self.capacity - 1)
        self._scratch.put_buffer(0, self._buffer, index + wire.RECORD_HEADER_LENGTH, message_length)
        if not self._is_intact(position):
            return None
        return type_id, message_length, position + align_record(length)

    def _header(self, position: int, tail: int) -> tuple[int, int]:
        """Return type and length of the record at `position`; raise ProtocolError if it cannot be there."""
        index = position & (self.capacity - 1)
        length = self._buffer.get_i32(index + wire.RECORD_LENGTH_OFFSET)
        room = align_record(length)
        if length < wire.RECORD_HEADER_LENGTH or room > min(self.capacity - index, tail - position):
            raise ProtocolError(
                f"broadcast record of {length} bytes at {index}: does not end before the tail"
            )
        return self._buffer.get_i32(index + wire.RECORD_TYPE_OFFSET), length

    def _is_intact(self, position: int) -> bool:
        """Return whether the transmitter has not begun to write over what was read at `position`."""
        # What was read before must have been loaded before the intent is.
        fence_acquire()
        tail_intent = self._buffer.get_i64_acquire(self.capacity + wire.BROADCAST_TAIL_INTENT_OFFSET)
        return position + self.capacity > tail_intent

    def _reserve(self, length: int) -> None:
        capacity = self._scratch.capacity
        while capacity < length:
            capacity += capacity // 2
        if capacity > self._scratch.capacity:
            self._scratch = AtomicBuffer.allocate(capacity)
