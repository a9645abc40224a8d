"""Head of a ring buffer for its consumer: a private copy of the position in the shared trailer.

Clients map the ring to write commands, so a faulty or hostile one can store anything in its trailer. Only the consumer
moves the head: it continues from its own copy and restores the field, and no message is lost. Producers move the tail,
so the consumer has no copy of it: an impossible tail can only be reset.
Invariant: a wrong head or tail raises ProtocolError once, not in each duty cycle. Its text has no values, so that a
hostile process cannot fill the error log with distinct texts.
"""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.concurrent.records import MAX_POSITION, is_position
from aeron_core.errors import ProtocolError

#: Last position at which a consumer begins: behind it, the ring would reach MAX_POSITION, and no command could be
#: written. An invented number: no ring gets there, at 1 GB/s it takes 73 years.
_MAX_FIRST_POSITION: Final = MAX_POSITION // 2


class RingHead:
    """Position up to which the consumer has read; used by the consumer thread only."""

    def __init__(self, buffer: AtomicBuffer, capacity: int) -> None:
        self._buffer = buffer
        self._capacity = capacity
        self._offset = capacity + wire.RING_HEAD_OFFSET
        self._cache_offset = capacity + wire.RING_HEAD_CACHE_OFFSET
        self._tail_offset = capacity + wire.RING_TAIL_OFFSET
        # None until the first use: a ring object of a producer has no position of its own.
        self._position: int | None = None
        self._is_overwritten = False

    def load(self) -> int:
        """Return the position in bytes since the start; restore the head if another process has overwritten it.

        Raises ProtocolError if the stored head is impossible at the first use; it is then reset to the tail, or to 0
        if the tail is impossible, too.
        """
        stored = self._buffer.get_i64_acquire(self._offset)
        if stored == self._position:
            return stored
        if self._position is not None:
            # Continue: a process that overwrites the head again and again must not stop the commands of others.
            self.store(self._position)
            self._is_overwritten = True
            return self._position
        tail = self._buffer.get_i64_acquire(self._tail_offset)
        if is_position(stored) and 0 <= tail - stored <= self._capacity and tail <= _MAX_FIRST_POSITION:
            self._position = stored
            return stored
        # This consumer has no copy of the head yet, so the start of the commands before the tail is unknown.
        self.store(tail if is_position(tail) and tail <= _MAX_FIRST_POSITION else 0)
        raise ProtocolError(
            "impossible head of the command ring: must be a multiple of 8 at most the capacity before the tail; "
            "reset, earlier commands are lost: clients must repeat those that get no answer"
        )

    def store(self, position: int) -> None:
        """Move the head to `position`, in bytes, so that producers may claim the space before it."""
        self._position = position
        # Release: a producer that loads the new head with acquire sees the space before it zeroed.
        self._buffer.put_i64_release(self._offset, position)

    def check_producers(self) -> None:
        """Reset the tail and the cached head, which producers store, if no correct one can have stored them.

        Raises ProtocolError for a head that was overwritten since the last call, and once for an impossible tail: then
        the commands in the ring are lost. Without the reset all later ones would be lost, too, because producers would
        find the ring full or write where the consumer does not read.
        """
        head = self.load()
        tail = self._buffer.get_i64_acquire(self._tail_offset)
        is_tail_correct = is_position(tail) and 0 <= tail - head <= self._capacity
        cached = self._buffer.get_i64_acquire(self._cache_offset)
        # A cached head ahead of the real one would let producers overwrite records that were not read yet.
        if cached > head or not is_position(cached):
            self._buffer.compare_and_set_i64(self._cache_offset, cached, head)
        if is_tail_correct:
            if self._is_overwritten:
                self._is_overwritten = False
                raise ProtocolError(
                    "head of the command ring overwritten by another process: restored, nothing is lost"
                )
            return
        # Zero the ring before the tail is reset: producers rely on zeros after the tail.
        self._buffer.set_memory(0, self._capacity, 0)
        # Compare-and-set: if a producer moves the tail meanwhile, the new tail is impossible, too, and the next call
        # resets it.
        self._buffer.compare_and_set_i64(self._tail_offset, tail, head)
        raise ProtocolError(
            "tail of the command ring overwritten by another process: must be a multiple of 8 at most the capacity "
            "after the head; reset to the head, commands in the ring are lost: clients must repeat those that "
            "get no answer"
        )
