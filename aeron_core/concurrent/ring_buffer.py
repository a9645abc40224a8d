"""Ring buffer with many producers and one consumer, by which clients send commands to a driver.

Not here: the meaning of the messages. Any thread of any process may produce; one thread reads and unblocks.

A producer claims a record by moving the tail (compare-and-set), writes it, and stores its length last. The length is
the state of a record:

    0         free, or claimed with nothing stored yet
    negative  being written
    positive  complete: the consumer may read it, and then sets all of it to zero

Invariant: all bytes from the tail to the head of the next round are zero. A claimed record therefore has length 0
until its producer stores one, and the consumer never mistakes old bytes for a new record.

Source: aeron_mpsc_rb.c.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.records import (
    align_record,
    check_message,
    message_bytes,
    read_position,
    record_capacity,
)
from aeron_core.concurrent.ring_head import RingHead
from aeron_core.errors import ConfigurationError, ProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

FULL: Final = -1
"""Result of `try_claim` if the ring has too little free space."""


class ReadAction(Enum):
    """Result of a `controlled_read` handler."""

    ABORT = "abort"  # keep this record for the next read, and stop
    BREAK = "break"  # stop after this record
    COMMIT = "commit"  # free the space of all records so far now, and continue
    CONTINUE = "continue"  # continue; the space is freed at the end


# Called with the type, the buffer, and the message's offset and length in bytes; the message is valid during the call
# only.
RecordHandler = Callable[[int, AtomicBuffer, int, int], None]
ControlledRecordHandler = Callable[[int, AtomicBuffer, int, int], ReadAction]


class ManyToOneRingBuffer:
    """A ring over `buffer`: a power of two of bytes for records, then a trailer with the positions.

    Raises ConfigurationError for any other length of the buffer. Positions that only a faulty or hostile
    process can have stored raise ProtocolError from the methods that read or write records; the consumer
    restores or resets them (`RingHead`). The properties return positions unchecked.
    """

    def __init__(self, buffer: AtomicBuffer) -> None:
        self.buffer: Final = buffer
        self.capacity: Final = record_capacity(buffer, wire.RING_TRAILER_LENGTH)
        # The smallest ring has space for one header, not for a message.
        smallest = self.capacity == wire.RECORD_HEADER_LENGTH
        self.max_message_length: Final = 0 if smallest else self.capacity // 8
        self._mask = self.capacity - 1
        self._tail_offset = self.capacity + wire.RING_TAIL_OFFSET
        self._head_cache_offset = self.capacity + wire.RING_HEAD_CACHE_OFFSET
        self._head_offset = self.capacity + wire.RING_HEAD_OFFSET
        self._correlation_offset = self.capacity + wire.RING_CORRELATION_COUNTER_OFFSET
        self._heartbeat_offset = self.capacity + wire.RING_CONSUMER_HEARTBEAT_OFFSET
        #: The position of the consumer, for its thread only.
        self.head: Final = RingHead(buffer, self.capacity)

    def write(self, type_id: int, message: Buffer) -> bool:
        """Append a message; return False if the ring has too little free space. Any thread.

        Raises ConfigurationError for a type that is not from 1 to 2147483647 and for a message longer than
        `max_message_length` bytes, TypeError unless `message` is a contiguous buffer.
        """
        data = message_bytes(type_id, message, self.max_message_length)
        length = wire.RECORD_HEADER_LENGTH + len(data)
        index = self._claim(length)
        if index < 0:
            return False
        # Negative while being written: if this process crashes now, `unblock` finds the number of bytes to skip.
        self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, -length)
        self.buffer.put_bytes(index + wire.RECORD_HEADER_LENGTH, data)
        self.buffer.put_i32(index + wire.RECORD_TYPE_OFFSET, type_id)
        # Release: a consumer that loads the positive length with acquire also sees the message and its type.
        self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, length)
        return True

    def try_claim(self, type_id: int, length: int) -> int:
        """Return the offset in `buffer` for a message of `length` bytes, or FULL. Any thread.

        The claim must end with `commit` or `abort`: the consumer waits for it. Raises ConfigurationError for a type
        that is not from 1 to 2147483647 and a length that is not from 0 to `max_message_length`.
        """
        check_message(type_id, length, self.max_message_length)
        record_length = wire.RECORD_HEADER_LENGTH + length
        index = self._claim(record_length)
        if index < 0:
            return FULL
        self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, -record_length)
        self.buffer.put_i32(index + wire.RECORD_TYPE_OFFSET, type_id)
        return index + wire.RECORD_HEADER_LENGTH

    def commit(self, offset: int) -> bool:
        """Publish the claim at `offset`; return False if it has ended already, for example by `unblock`.

        Raises ConfigurationError for an offset that `try_claim` cannot have returned.
        """
        return self._end_claim(offset, aborted=False)

    def abort(self, offset: int) -> bool:
        """Abandon the claim at `offset`, which the consumer then skips; return False if it has ended already.

        Raises ConfigurationError for an offset that `try_claim` cannot have returned.
        """
        return self._end_claim(offset, aborted=True)

    def read(self, handler: RecordHandler, limit: int) -> int:
        """Call `handler` for up to `limit` complete messages and return their number.

        Stops at the end of the buffer; the next call continues at its beginning. If the handler raises, its
        message is not delivered again. A record with an impossible length raises ProtocolError, once, and
        everything up to the tail or the end of the buffer is skipped with it, since the start of the next
        record is unknown. Consumer thread only.
        """

        def read_on(type_id: int, buffer: AtomicBuffer, offset: int, length: int) -> ReadAction:
            handler(type_id, buffer, offset, length)
            return ReadAction.CONTINUE

        return self.controlled_read(read_on, limit)

    def controlled_read(self, handler: ControlledRecordHandler, limit: int) -> int:
        """Call `handler` for up to `limit` complete messages and return their number, without an aborted one.

        The result of the handler decides how to continue after each message. Everything else is as in `read`.
        """
        released = position = self.head.load()
        # Do not read past the end of the buffer, so that `_release` clears one contiguous range.
        end = position + self.capacity - (position & self._mask)
        messages = 0
        try:
            while position < end and messages < limit:
                index = position & self._mask
                length = self.buffer.get_i32_acquire(index + wire.RECORD_LENGTH_OFFSET)
                # The record is free, claimed or being written: later ones wait, so that messages stay in order.
                if length <= 0:
                    break
                record_end = position + align_record(length)
                if length < wire.RECORD_HEADER_LENGTH or record_end > min(end, self._tail()):
                    position = self._give_up(position, end)
                    raise ProtocolError(
                        f"command record of {length} bytes at {index}: must have at least "
                        f"{wire.RECORD_HEADER_LENGTH} bytes and end at or before the tail and the end of the ring; a "
                        f"client damaged it: the commands that follow may be lost; clients must repeat those that get "
                        f"no answer"
                    )
                type_id = self.buffer.get_i32(index + wire.RECORD_TYPE_OFFSET)
                start, position = position, record_end
                if type_id == wire.RECORD_PADDING_TYPE:
                    continue
                message_length = length - wire.RECORD_HEADER_LENGTH
                action = handler(type_id, self.buffer, index + wire.RECORD_HEADER_LENGTH, message_length)
                if action is ReadAction.ABORT:
                    position = start
                    break
                messages += 1
                if action is ReadAction.BREAK:
                    break
                if action is ReadAction.COMMIT:
                    self._release(released, position)
                    released = position
        finally:
            self._release(released, position)
        return messages

    def unblock(self) -> bool:
        """Turn the record that the consumer waits for into padding; return whether that was done.

        For the consumer thread, after the head has not moved for longer than a producer can need: a producer that
        crashed between claim and commit would block all later messages forever. Raises ProtocolError for an impossible
        head or tail.
        """
        head = self.head.load()
        tail = read_position(self.buffer, self._tail_offset)
        if tail <= head:
            return False
        index = head & self._mask
        block = min(self.capacity - index, tail - head)
        length = self.buffer.get_i32_acquire(index + wire.RECORD_LENGTH_OFFSET)
        if length < 0:
            claimed = -length
            # No producer stores such a length: skip everything that may belong to the record.
            if claimed < wire.RECORD_HEADER_LENGTH or align_record(claimed) > block:
                claimed = block
            return self._pad(index, claimed)
        if length > 0:
            return False
        gap = self._zeros(index, block)
        # The length after the gap may have been stored after the first scan had passed the gap, which may be filled by
        # now: scan again, and pad only a gap that is still there.
        return 0 < gap < block and self._zeros(index, gap) == gap and self._pad(index, gap)

    def next_correlation_id(self) -> int:
        """Return a number that is unique on this ring, across processes."""
        # Atomic, in the trailer of the shared ring: client ids and correlation ids of all clients differ.
        return self.buffer.get_and_add_i64(self._correlation_offset, 1)

    @property
    def consumer_heartbeat_ms(self) -> int:
        """The consumer's last heartbeat in ms since the epoch; -1 after an orderly shutdown."""
        return self.buffer.get_i64_acquire(self._heartbeat_offset)

    @consumer_heartbeat_ms.setter
    def consumer_heartbeat_ms(self, now_ms: int) -> None:
        self.buffer.put_i64_release(self._heartbeat_offset, now_ms)

    @property
    def consumer_position(self) -> int:
        """The head: bytes that the consumer has released since the ring was created, padding included."""
        return self.buffer.get_i64_acquire(self._head_offset)

    @property
    def producer_position(self) -> int:
        """The tail: bytes that producers have claimed since the ring was created, padding included."""
        return self.buffer.get_i64_acquire(self._tail_offset)

    @property
    def size(self) -> int:
        """Bytes claimed and not yet released by the consumer, from 0 to `capacity`."""
        # Load the head first: it only grows, so the difference may be too large, but never negative.
        head = self.consumer_position
        return max(0, min(self.producer_position - head, self.capacity))

    def _claim(self, length: int) -> int:
        """Move the tail past a record of `length` bytes and return the record's index, or FULL."""
        required = align_record(length)
        # The cached head saves loading the consumer's cache line. It may be older than the head, so the free space
        # appears smaller than it is; the head itself is loaded if that space is too small.
        head = read_position(self.buffer, self._head_cache_offset)
        while True:
            tail = read_position(self.buffer, self._tail_offset)
            if required > self.capacity - (tail - head):
                head = read_position(self.buffer, self._head_offset)
                if required > self.capacity - (tail - head):
                    return FULL
                self.buffer.put_i64_release(self._head_cache_offset, head)
            index = tail & self._mask
            padding = 0
            # A record never wraps: if it does not fit before the end, padding fills the rest and it starts at index 0.
            if required > self.capacity - index:
                # After the padding the record starts at index 0: it must fit before the head.
                if required > head & self._mask:
                    head = read_position(self.buffer, self._head_offset)
                    if required > head & self._mask:
                        return FULL
                    self.buffer.put_i64_release(self._head_cache_offset, head)
                padding = self.capacity - index
            # If another producer moved the tail meanwhile, retry with the new tail.
            if self.buffer.compare_and_set_i64(self._tail_offset, tail, tail + padding + required):
                break
        if padding:
            # Negative while its type is written, like any record.
            self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, -padding)
            self._pad(index, padding)
            index = 0
        return index

    def _end_claim(self, offset: int, *, aborted: bool) -> bool:
        index = offset - wire.RECORD_HEADER_LENGTH
        if not 0 <= index < self.capacity or index % wire.RECORD_ALIGNMENT:
            raise ConfigurationError(
                f"offset={offset}: must be what try_claim of this ring returned, from {wire.RECORD_HEADER_LENGTH} to "
                f"{self.capacity} and aligned to {wire.RECORD_ALIGNMENT} bytes"
            )
        length = self.buffer.get_i32(index + wire.RECORD_LENGTH_OFFSET)
        # If the length is not negative, the claim has ended: by an earlier call, or because `unblock` turned it into
        # padding, which the consumer may have read and set to zero.
        if not -self.capacity <= length < 0:
            return False
        if aborted:
            return self._pad(index, -length)
        self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, -length)
        return True

    def _pad(self, index: int, length: int) -> bool:
        # The type is stored first: the length, with release, makes the padding visible.
        self.buffer.put_i32(index + wire.RECORD_TYPE_OFFSET, wire.RECORD_PADDING_TYPE)
        self.buffer.put_i32_release(index + wire.RECORD_LENGTH_OFFSET, length)
        return True

    def _zeros(self, index: int, block: int) -> int:
        """Return how many bytes from `index` on have no length stored, at most `block`."""
        for gap in range(0, block, wire.RECORD_ALIGNMENT):
            if self.buffer.get_i32_acquire(index + gap + wire.RECORD_LENGTH_OFFSET) != 0:
                return gap
        return block

    def _tail(self) -> int:
        """Return the tail, rounded down to a multiple of 8, which any process may have overwritten."""
        return self.buffer.get_i64_acquire(self._tail_offset) & -wire.RECORD_ALIGNMENT

    def _give_up(self, position: int, end: int) -> int:
        """Return the position to continue from after an impossible record at `position`."""
        # Continue at the tail, after which nothing was written, or at the end of the buffer if it comes first. Clearing
        # the length ensures that the record is not read again.
        self.buffer.put_i64(position & self._mask, 0)
        return max(position, min(end, self._tail()))

    def _release(self, start: int, end: int) -> None:
        """Return the space between two positions to the producers."""
        if end > start:
            # The zeros are stored before the head, which has release order: a producer that loads the new head with
            # acquire claims only zeroed space.
            self.buffer.set_memory(start & self._mask, end - start, 0)
            self.head.store(end)
