"""Counters without a driver, for tests of single parts."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.counter import AtomicCounter


def make_counters(*names: str) -> dict[str, AtomicCounter]:
    """Return counters by name, all zero, in memory of this process."""
    values = AtomicBuffer.allocate(len(names) * wire.COUNTER_VALUE_LENGTH)
    return {name: AtomicCounter(values, counter_id) for counter_id, name in enumerate(names)}


def counted(counters: dict[str, AtomicCounter]) -> dict[str, int]:
    """Return the values of the counters that are not zero."""
    return {name: counter.get() for name, counter in counters.items() if counter.get() != 0}
