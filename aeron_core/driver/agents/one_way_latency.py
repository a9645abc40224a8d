"""One-way latency from a sender to its receivers, measured with the wall clocks of both hosts.

The sender stamps RTTM frames for receiver id 0 (all receivers) with its CLOCK_REALTIME: a burst of eight, 1 ms apart,
when it has its first receiver, then one per interval while it has one. Receivers do not reply. A receiver compares each
timestamp with its own CLOCK_REALTIME and publishes two counters:

    latency   time of reception - time of sending, in ns: the true latency plus the receiver's clock offset
    drift     growth of the latency since the first eight measurements, in ns per second, computed from the minimum
              of each eight: the minimum has the least queueing, so its growth is mostly that of the clock offset

With synchronized clocks the drift is about 0 and the latency is true; a negative latency shows the remaining clock
offset. With other clocks only changes of the latency have a meaning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter

# Our choice: of eight measurements, at least one usually meets no queue in the network, and one per millisecond is too
# few to cause a queue.
BURST = 8
BURST_INTERVAL_NS = 1_000_000
# Our choice, one day: clocks that differ by more are not synchronized. The limit also prevents overflow below.
LONGEST_NS = 86_400_000_000_000
_NS_OF_SECOND = 1e9


class OneWaySchedule:
    """Schedule of the measurements of one publication; an interval of 0 switches them off."""

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._sent = 0
        self._deadline_ns = 0

    def is_due(self, now_ns: int) -> bool:
        """Return whether to measure now; if so, count the measurement as done."""
        # The first measurement is due at once, because this is called only while there is a receiver.
        if self._interval_ns == 0 or (self._sent > 0 and now_ns < self._deadline_ns):
            return False
        # The count stops at BURST: from then on there is one measurement per interval.
        self._sent = min(self._sent + 1, BURST)
        self._deadline_ns = now_ns + (BURST_INTERVAL_NS if self._sent < BURST else self._interval_ns)
        return True

    def deadline_ns(self) -> int:
        """Return when the next measurement is due; 0 before the first one."""
        return self._deadline_ns


class OneWayEstimate:
    """Latency and drift of one stream, estimated by a receiver."""

    def __init__(self, latency: AtomicCounter, drift: AtomicCounter) -> None:
        self._latency = latency
        self._drift = drift
        self._count = 0
        self._shortest_ns = 0
        self._has_first = False
        self._first_ns = 0
        self._first_shortest_ns = 0

    def on_measurement(self, sent_ns: int, received_ns: int) -> bool:
        """Add a measurement; return False and ignore it if the two epoch times are over a day apart, else True."""
        # The peer chose `sent_ns`, so the difference of the two could overflow; the bounds around our own clock
        # cannot.
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
        # The drift is relative to the first eight measurements, which therefore yield no drift.
        if not self._has_first:
            self._has_first = True
            self._first_ns = now_ns
            self._first_shortest_ns = self._shortest_ns
            return 0
        elapsed_s = (now_ns - self._first_ns) / _NS_OF_SECOND
        # A wall clock can be set back, which makes the elapsed time 0 or negative.
        if elapsed_s > 0:
            grown_ns = self._shortest_ns - self._first_shortest_ns
            self._drift.set_release(cython.cast(cython.longlong, grown_ns / elapsed_s))
        return 0
