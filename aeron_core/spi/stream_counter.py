"""Counters of strategies and endpoints: the type of their factories, and counters for use outside a driver.

Not here: labels and lifetime, which the driver handles.
"""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.peers import PeerCounter

CounterFactory = Callable[[int, str], AtomicCounter]
"""Takes a counter type and a name, which starts the label. Raises StorageError if no counter is free."""


def detached_counter(_type_id: int, _name: str) -> AtomicCounter:
    """Return a counter in memory of its own, not visible to tools, for a strategy that runs outside a driver."""
    return AtomicCounter(AtomicBuffer.allocate(wire.COUNTER_VALUE_LENGTH), 0)


def detached_peer_counter(name: str) -> PeerCounter:
    """Return a peer counter in memory of its own, not visible to tools, for an endpoint outside a driver."""
    return PeerCounter(detached_counter(0, name), AtomicBuffer.allocate(wire.COUNTER_METADATA_LENGTH))
