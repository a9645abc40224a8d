"""When a reader that was lost, or could not be reached, is tried again.

A round is one attempt at each of `round_length` readers. Within a round nothing is waited for; between rounds passes a
time that doubles up to a bound, until a reader has acknowledged something. Half of it is left to chance, lest all who
have lost one reader come back at once.
"""

from __future__ import annotations

import random


class ReconnectBackoff:
    """Used by the sender; durations are nanoseconds."""

    def __init__(self, init_ns: int, max_ns: int, round_length: int = 1) -> None:
        self._init_ns = init_ns
        self._max_ns = max_ns
        self._round_length = round_length
        self._next_ns = init_ns
        self._failures = 0
        self._retry_ns = 0
        self._chance = random.getrandbits(31)

    def may_try(self, now_ns: int) -> bool:
        """Return whether it is time for the next attempt."""
        return self._failures == 0 or now_ns >= self._retry_ns

    def on_lost(self, now_ns: int) -> int:
        """Take it that an attempt has failed, or its connection has; return 0."""
        self._failures += 1
        if self._failures % self._round_length != 0:
            self._retry_ns = now_ns
            return 0
        # Source: C11, 7.22.2.
        self._chance = (self._chance * 1103515245 + 12345) & 0x7FFFFFFF
        half = self._next_ns >> 1
        self._retry_ns = now_ns + half + ((half >> 10) * (self._chance >> 8) >> 13)
        self._next_ns = min(self._next_ns * 2, self._max_ns)
        return 0

    def on_acknowledged(self) -> int:
        """Take it that a reader does its work; return 0."""
        self._failures = 0
        self._next_ns = self._init_ns
        return 0
