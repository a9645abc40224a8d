"""Receive side of a broadcast buffer: how a client reads the responses of a driver.

Not here: sending (broadcast_transmitter). The transmitter never waits and reads nothing that a receiver writes; a
receiver that is too slow is lapped: the transmitter overwrites records that it has not read.
Invariant: the handler gets a copy that was complete: the transmitter had not begun to overwrite the record when the
copy was finished.

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
"""Result of `receive` if messages were lost."""

# Source: AERON_BROADCAST_SCRATCH_BUFFER_LENGTH_DEFAULT in aeron_broadcast_receiver.h.
SCRATCH_LENGTH: Final = 4096

# Called with the type, the buffer, and the message's offset and length; the message is valid during the call only.
MessageHandler = Callable[[int, AtomicBuffer, int, int], None]


class BroadcastReceiver:
    """One reader of `buffer`, starting with the latest message, which may be older than this receiver.

    Raises ConfigurationError if the length of the buffer is not a power of two plus the trailer, and ProtocolError for
    positions that no transmitter stores.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        self._buffer = buffer
        self.capacity: Final = record_capacity(buffer, wire.BROADCAST_TRAILER_LENGTH)
        self._next = read_position(buffer, self.capacity + wire.BROADCAST_LATEST_OFFSET)
        self._scratch = AtomicBuffer.allocate(SCRATCH_LENGTH)
        self._lapped_count = 0

    @property
    def lapped_count(self) -> int:
        """The number of calls of `receive` that returned LAPPED, not the number of lost messages."""
        return self._lapped_count

    def receive(self, handler: MessageHandler) -> int:
        """Call `handler` for the next message; return 1, 0 if there is none, or LAPPED.

        LAPPED means that messages were lost: the next call continues with the latest one. Raises ProtocolError for an
        impossible record, and skips everything sent so far. An exception of the handler is passed on, and its message
        is not delivered again. One thread only.
        """
        # Acquire: pairs with the release of the tail, which is stored after the record.
        tail = read_position(self._buffer, self.capacity + wire.BROADCAST_TAIL_OFFSET)
        if tail <= self._next:
            return 0
        try:
            copied = self._copy(self._next, tail)
        except ProtocolError:
            # The record is impossible: either it was overwritten during the read, or the transmitter is faulty.
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
        """Copy the message at `position`, or after the padding there; return type, length in bytes and end position.

        Return None if the transmitter overwrote it meanwhile.
        """
        type_id, length = self._header(position, tail)
        if type_id == wire.RECORD_PADDING_TYPE:
            # The padding is overwritten before the record after it: an intact record does not prove intact padding.
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
        """Return type and length of the record at `position`, header included; raise ProtocolError if impossible."""
        index = position & (self.capacity - 1)
        length = self._buffer.get_i32(index + wire.RECORD_LENGTH_OFFSET)
        aligned_length = align_record(length)
        if length < wire.RECORD_HEADER_LENGTH or aligned_length > min(self.capacity - index, tail - position):
            raise ProtocolError(
                f"broadcast record of {length} bytes at {index}: must have at least {wire.RECORD_HEADER_LENGTH} bytes "
                f"and end at or before the tail and the end of the buffer; the buffer is damaged, restart the media "
                f"driver if it occurs again"
            )
        return self._buffer.get_i32(index + wire.RECORD_TYPE_OFFSET), length

    def _is_intact(self, position: int) -> bool:
        """Return whether the transmitter has not begun to overwrite what was read at `position`."""
        # The fence keeps the loads of the record before the load of the intent. If the intent has not reached the space
        # of the record, those loads cannot have seen any later store to it.
        fence_acquire()
        tail_intent = self._buffer.get_i64_acquire(self.capacity + wire.BROADCAST_TAIL_INTENT_OFFSET)
        return position + self.capacity > tail_intent

    def _reserve(self, length: int) -> None:
        capacity = self._scratch.capacity
        while capacity < length:
            capacity += capacity // 2
        if capacity > self._scratch.capacity:
            self._scratch = AtomicBuffer.allocate(capacity)
