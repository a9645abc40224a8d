"""Measurement of duty cycles, in counters, to find stalls."""

from __future__ import annotations

from aeron_core._native.counter import AtomicCounter


class DutyCycleTracker:
    """Records the longest duty cycle in ns, and how many were longer than `threshold_ns`.

    For the thread of an agent; several senders share their counters.
    """

    def __init__(self, longest: AtomicCounter, exceeded: AtomicCounter, threshold_ns: int) -> None:
        self._longest = longest
        self._exceeded = exceeded
        self._threshold_ns = threshold_ns
        self._time_of_last_ns = 0

    def measure_and_update(self, now_ns: int) -> int:
        """Record the time since the previous call, if any, as a duty cycle; return 0. `now_ns`: monotonic, above 0."""
        if self._time_of_last_ns > 0:
            duration_ns = now_ns - self._time_of_last_ns
            self._longest.raise_to(duration_ns)
            if duration_ns > self._threshold_ns:
                self._exceeded.get_and_add(1)
        self._time_of_last_ns = now_ns
        return 0
