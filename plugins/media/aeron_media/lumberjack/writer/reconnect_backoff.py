"""Exponential backoff between attempts to connect to readers.

A round is one attempt at each of `round_length` readers, without delay. The delay between rounds doubles up to a
maximum, until a reader acknowledges a window. Half of it is random, so that the writers of a lost reader do not
reconnect at the same time.
"""

from __future__ import annotations

import random


class ReconnectBackoff:
    """Backoff of one connection; used on the sender. Durations are nanoseconds."""

    def __init__(self, init_ns: int, max_ns: int, round_length: int = 1) -> None:
        self._init_ns = init_ns
        self._max_ns = max_ns
        self._round_length = round_length
        self._next_ns = init_ns
        self._failures = 0
        self._retry_ns = 0
        self._chance = random.getrandbits(31)

    def may_try(self, now_ns: int) -> bool:
        """Return whether an attempt is allowed now: after a failure only when the delay is over."""
        return self._failures == 0 or now_ns >= self._retry_ns

    def on_lost(self, now_ns: int) -> int:
        """Record a failed attempt or a lost connection, and start the delay if it ends a round; return 0."""
        self._failures += 1
        if self._failures % self._round_length != 0:
            self._retry_ns = now_ns
            return 0
        # The generator of the C standard's example for rand(): C11, 7.22.2.
        self._chance = (self._chance * 1103515245 + 12345) & 0x7FFFFFFF
        half = self._next_ns >> 1
        self._retry_ns = now_ns + half + ((half >> 10) * (self._chance >> 8) >> 13)
        self._next_ns = min(self._next_ns * 2, self._max_ns)
        return 0

    def on_acknowledged(self) -> int:
        """Record that a reader has acknowledged a window, which resets the delay; return 0."""
        self._failures = 0
        self._next_ns = self._init_ns
        return 0
