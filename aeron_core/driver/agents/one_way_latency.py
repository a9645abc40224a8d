"""How long frames take from a sender to its receivers, as far as their clocks agree.

The sender stamps RTTM frames for receiver id 0, that is for all, with its CLOCK_REALTIME: eight at once after it was
connected, 1 ms apart, then one in each interval. Nobody answers them. A receiver takes the time of its own
CLOCK_REALTIME and shows two numbers:

    latency   time of reception - time of sending, in ns: the true latency plus what the receiver's clock is ahead
    drift     how much that has grown since the first eight, in ns for each second, between the shortest of eight
              measurements and the shortest of the last eight: what takes no detour tells the clocks from the queues

With clocks that are synchronised the drift is around 0 and the latency is what it says, a negative one included, which
tells by how much they are not. Without, only its changes mean something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from aeron_core._native.counter import Counter

# Invented: enough that one of them meets no queue, at a rate that makes none.
BURST = 8
BURST_INTERVAL_NS = 1_000_000
# Invented: clocks a day apart do not measure milliseconds, and no product below overflows.
LONGEST_NS = 86_400_000_000_000
_NS_OF_SECOND = 1e9


class OneWaySchedule:
    """When the sender of a stream measures; an interval of 0 is never."""

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._sent = 0
        self._deadline_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Return whether to measure now; it counts as done then."""
        if self._interval_ns == 0 or (self._sent > 0 and now_ns < self._deadline_ns):
            return False
        self._sent = min(self._sent + 1, BURST)
        self._deadline_ns = now_ns + (BURST_INTERVAL_NS if self._sent < BURST else self._interval_ns)
        return True


class OneWayEstimate:
    """What a receiver makes of the measurements of one stream."""

    def __init__(self, latency: Counter, drift: Counter) -> None:
        self._latency = latency
        self._drift = drift
        self._count = 0
        self._shortest_ns = 0
        self._has_first = False
        self._first_ns = 0
        self._first_shortest_ns = 0

    def on_measurement(self, sent_ns: int, received_ns: int) -> bool:
        """Take one; return False, and nothing from it, if its clock is not of this day."""
        if sent_ns < received_ns - LONGEST_NS or sent_ns > received_ns + LONGEST_NS:
            return False
        latency_ns = received_ns - sent_ns
        self._latency.set_release(latency_ns)
        self._shortest_ns = latency_ns if self._count == 0 else min(self._shortest_ns, latency_ns)
        self._count += 1
        if self._count == BURST:
            self._count = 0
            self._compare(received_ns)
        return True

    def _compare(self, now_ns: int) -> int:
        if not self._has_first:
            self._has_first = True
            self._first_ns = now_ns
            self._first_shortest_ns = self._shortest_ns
            return 0
        elapsed_s = (now_ns - self._first_ns) / _NS_OF_SECOND
        if elapsed_s > 0:
            grown_ns = self._shortest_ns - self._first_shortest_ns
            self._drift.set_release(cython.cast(cython.longlong, grown_ns / elapsed_s))
        return 0
