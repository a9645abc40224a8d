"""Which receivers of a stream gave a sign of life lately.

Not here: what a receiver asks for (flow control) and who tells it.
Invariant: there are at most MAX_TRACKED_RECEIVERS, whoever sends status messages, and however many come and go, all
are walked at most once in RECEIVER_SWEEP_INTERVAL_NS.
Source: aeron_network_publication.c, aeron_network_publication_liveness_on_idle.
"""

from __future__ import annotations

from aeron_core._native.pointers import LongMap
from aeron_core.driver._native import operations


class LiveReceivers:
    """Receivers by their id, used by one thread."""

    def __init__(self, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns
        self._sweep_deadline_ns = 0
        self._times = LongMap()

    def count(self) -> int:
        """Return how many there are."""
        return self._times.size

    def note(self, receiver_id: int, now_ns: int) -> bool:
        """Take a sign of life; return whether there was room for the receiver."""
        if self._times.size == 0:
            self._sweep_deadline_ns = now_ns + self._timeout_ns
        elif self._times.size >= operations.MAX_TRACKED_RECEIVERS and self._times.get(receiver_id, -1) == -1:
            return False
        self._times.put(receiver_id, now_ns)
        return True

    def forget(self, receiver_id: int) -> bool:
        """Forget a receiver; return whether it was there."""
        return self._times.remove(receiver_id)

    def forget_silent(self, now_ns: int) -> int:
        """Forget those that were silent for longer than the timeout; return how many there were."""
        if now_ns <= self._sweep_deadline_ns or self._times.size == 0:
            return 0
        before = self._times.size
        earliest_ns = now_ns
        for slot in range(self._times.capacity):
            # Removing may move another entry into the slot, so look there again.
            while self._times.is_used(slot) and now_ns > self._times.value_at(slot) + self._timeout_ns:
                self._times.remove(self._times.key_at(slot))
            if self._times.is_used(slot):
                earliest_ns = min(earliest_ns, self._times.value_at(slot))
        self._sweep_deadline_ns = max(
            earliest_ns + self._timeout_ns, now_ns + operations.RECEIVER_SWEEP_INTERVAL_NS
        )
        return before - self._times.size
