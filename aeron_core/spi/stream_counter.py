"""Counters that a strategy shows of the stream that it serves.

Not here: how a driver labels them and when it gives them back.
"""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import Counter
from aeron_core._native.peers import PeerCounter

CounterFactory = Callable[[int, str], Counter]
"""Takes the type of a counter and its name, which its label begins with. StorageError where no room is left."""


def detached_counter(_type_id: int, _name: str) -> Counter:
    """Return a counter that no tool sees, for a strategy that runs outside of a driver."""
    return Counter(AtomicBuffer.allocate(wire.COUNTER_VALUE_LENGTH), 0)


def detached_peer_counter(name: str) -> PeerCounter:
    """Return a counter of a peer that nobody sees."""
    return PeerCounter(detached_counter(0, name), AtomicBuffer.allocate(wire.COUNTER_METADATA_LENGTH))
