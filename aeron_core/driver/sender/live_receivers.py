"""Liveness of a stream's receivers: those that sent a status message within the timeout.

Not here: positions and windows of receivers (flow control).
Invariant: forged status messages cost bounded memory and time. At most MAX_TRACKED_RECEIVERS are tracked, and all of
them are scanned at most once in RECEIVER_SWEEP_INTERVAL_NS.
Source: aeron_network_publication.c, aeron_network_publication_liveness_on_idle.
"""

from __future__ import annotations

from aeron_core._native.pointers import LongMap
from aeron_core.driver._native import operations


class LiveReceivers:
    """Live receivers by id; used by one thread."""

    def __init__(self, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns
        self._sweep_deadline_ns = 0
        self._times = LongMap()

    def count(self) -> int:
        """Return the number of tracked receivers; silent ones count until they are forgotten."""
        return self._times.size

    def note(self, receiver_id: int, now_ns: int) -> bool:
        """Record a status message; return False if the receiver is new and the limit is reached, else True."""
        if self._times.size == 0:
            # This is the only receiver: nothing can time out earlier.
            self._sweep_deadline_ns = now_ns + self._timeout_ns
        elif self._times.size >= operations.MAX_TRACKED_RECEIVERS and not self.is_tracked(receiver_id):
            # A tracked receiver is renewed even at the limit: forged ids must not push it out.
            return False
        self._times.put(receiver_id, now_ns)
        return True

    def is_tracked(self, receiver_id: int) -> bool:
        """Return whether a receiver is tracked."""
        return self._times.get(receiver_id, -1) != -1

    def forget(self, receiver_id: int) -> bool:
        """Forget a receiver; return whether it was tracked."""
        return self._times.remove(receiver_id)

    def forget_silent(self, now_ns: int) -> int:
        """If a scan is due, forget receivers silent for longer than the timeout; return how many."""
        if now_ns <= self._sweep_deadline_ns or self._times.size == 0:
            return 0
        before = self._times.size
        earliest_ns = now_ns
        for slot in range(self._times.capacity):
            # Removing may move another entry into the slot, so check the slot again.
            while self._times.is_used(slot) and now_ns > self._times.value_at(slot) + self._timeout_ns:
                self._times.remove(self._times.key_at(slot))
            if self._times.is_used(slot):
                earliest_ns = min(earliest_ns, self._times.value_at(slot))
        self._sweep_deadline_ns = max(
            earliest_ns + self._timeout_ns, now_ns + operations.RECEIVER_SWEEP_INTERVAL_NS
        )
        return before - self._times.size
