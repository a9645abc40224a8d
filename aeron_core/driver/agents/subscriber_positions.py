"""Positions of the subscribers of one stream.

Subscribers are clients: each advances its own counter in shared memory.
Invariant: only the agent that owns the stream uses the list. The conductor keeps each entry alive, and its counter
allocated, until the agent has confirmed the removal of the entry or of the stream.
"""

from __future__ import annotations

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.pointers import PointerList


class SubscriberPosition:
    """One subscriber of a stream: the counter that it advances, and the ids of its subscription and client."""

    def __init__(self, counter: AtomicCounter, subscription_id: int, client_id: int) -> None:
        self.counter = counter
        self.subscription_id = subscription_id
        self.client_id = client_id


class SubscriberPositions:
    """The subscribers of one stream; used without the GIL by the agent that owns the stream."""

    def __init__(self) -> None:
        self._positions = PointerList()

    def size(self) -> int:
        """Return the number of subscribers."""
        return self._positions.size

    def add(self, position: SubscriberPosition, join_position: int) -> int:
        """Add a borrowed entry, set its counter to `join_position`, and return `join_position`.

        The agent chooses the position, because it cleans the log: until the entry is in the list, nothing prevents the
        agent from cleaning beyond a position that another thread has chosen.
        """
        # Set before LINKED is sent: the client gets its image only after LINKED, and begins to read at this value.
        position.counter.set_release(join_position)
        self._positions.append(cython.cast(cython.pointer(PyObject), position))
        return join_position

    def remove(self, position: SubscriberPosition) -> int:
        """Remove an entry, if it is in the list; return the number of subscribers that are left."""
        self._positions.remove(cython.cast(cython.pointer(PyObject), position))
        return self._positions.size

    def lowest(self, otherwise: int) -> int:
        """Return the lowest of `otherwise` and the positions of all subscribers.

        Each position is rounded down to the frame alignment; `otherwise` is not.
        """
        lowest = otherwise
        for i in range(self._positions.size):
            lowest = min(lowest, self._read(i))
        return lowest

    def highest(self, otherwise: int, ceiling: int) -> int:
        """Return the highest of `otherwise` and the positions of all subscribers.

        Each position is rounded down to the frame alignment and capped at `ceiling`; `otherwise` is not.
        """
        highest = otherwise
        for i in range(self._positions.size):
            # Clients write their counters: without the ceiling, one of them could move a stream past data that
            # exists.
            highest = max(highest, min(self._read(i), ceiling))
        return highest

    def _read(self, index: int) -> int:
        # Clients write the counters, so any value is possible: round down to the frame alignment.
        # Acquire: pairs with the release of a subscriber that has read up to here. Its reads of the log come before
        # the store of zeros that this position permits.
        position = cython.cast(SubscriberPosition, self._positions.at(index)).counter.get_acquire()
        return position - (position & (wire.FRAME_ALIGNMENT - 1))
