"""How far the subscribers of one stream have got.

Invariant: only the agent that owns the stream touches the list; the conductor keeps each entry alive until the
agent has confirmed its removal, and frees its counter only then.
"""

from __future__ import annotations

import cython
from cython.cimports.cpython.ref import PyObject

from aeron_core._native import wire
from aeron_core._native.counter import Counter
from aeron_core._native.pointers import PointerList


class SubscriberPosition:
    """One subscriber of a stream: the counter that it advances, and whose it is."""

    def __init__(self, counter: Counter, subscription_id: int, client_id: int) -> None:
        self.counter = counter
        self.subscription_id = subscription_id
        self.client_id = client_id


class SubscriberPositions:
    """The subscribers of one stream, walked without the GIL."""

    def __init__(self) -> None:
        self._positions = PointerList()

    def size(self) -> int:
        """Return how many subscribers there are."""
        return self._positions.size

    def add(self, position: SubscriberPosition, join_position: int) -> int:
        """Add a borrowed entry, which reads from `join_position` on; return that.

        Only the agent knows of a position that what is behind it is still there: before the entry is in the list
        nothing keeps it from being cleaned.
        """
        position.counter.set_release(join_position)
        self._positions.append(cython.cast(cython.pointer(PyObject), position))
        return join_position

    def remove(self, position: SubscriberPosition) -> int:
        """Forget an entry; return how many are left."""
        self._positions.remove(cython.cast(cython.pointer(PyObject), position))
        return self._positions.size

    def lowest(self, otherwise: int) -> int:
        """Return the lowest of `otherwise` and the positions of all subscribers."""
        lowest = otherwise
        for i in range(self._positions.size):
            lowest = min(lowest, self._read(i))
        return lowest

    def highest(self, otherwise: int, ceiling: int) -> int:
        """Return the highest of `otherwise` and the positions of all subscribers, none of them beyond `ceiling`."""
        highest = otherwise
        for i in range(self._positions.size):
            highest = max(highest, min(self._read(i), ceiling))
        return highest

    def _read(self, index: int) -> int:
        # Clients write these. What is no boundary of a frame is rounded down to one.
        position = cython.cast(SubscriberPosition, self._positions.at(index)).counter.get_acquire()
        return position - (position & (wire.FRAME_ALIGNMENT - 1))
