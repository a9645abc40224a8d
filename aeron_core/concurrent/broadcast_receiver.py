"""Receive side of a broadcast buffer, from which a client reads the responses of a driver.

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

# Called with the type, the buffer, and the message's offset and length in bytes; the message is valid during the call
# only.
MessageHandler = Callable[[int, AtomicBuffer, int, int], None]


class BroadcastReceiver:
    """One reader of `buffer`, starting with the latest message, which may be older than this receiver.

    Raises ConfigurationError if the length of the buffer is not a power of two of at least 8 bytes plus the trailer,
    ProtocolError if no transmitter can have stored the position of the latest message.
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
        impossible position or record; after an impossible record, the next call continues at the tail. An exception of
        the handler is passed on, and its message is not delivered again. One thread only.
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

        Return None if the transmitter overwrote it meanwhile. Raises ProtocolError for an impossible record.
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
                f"broadcast record of {length} bytes at {index}: must be from {wire.RECORD_HEADER_LENGTH} to "
                f"{min(self.capacity - index, tail - position)} bytes, to the tail or the end of the buffer; the "
                f"buffer is damaged, restart the media driver if it occurs again"
            )
        return self._buffer.get_i32(index + wire.RECORD_TYPE_OFFSET), length

    def _is_intact(self, position: int) -> bool:
        """Return whether the record at `position` was not being overwritten while it was read."""
        # The acquire fence keeps the loads of the record before the load of the intent, and pairs with the release
        # fence of the transmitter: a load that saw an overwritten byte is followed by a load of the new intent.
        fence_acquire()
        tail_intent = self._buffer.get_i64_acquire(self.capacity + wire.BROADCAST_TAIL_INTENT_OFFSET)
        return position + self.capacity > tail_intent

    def _reserve(self, length: int) -> None:
        capacity = self._scratch.capacity
        while capacity < length:
            capacity += capacity // 2
        if capacity > self._scratch.capacity:
            self._scratch = AtomicBuffer.allocate(capacity)
