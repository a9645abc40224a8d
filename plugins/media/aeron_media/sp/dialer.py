"""Dialer: schedule of attempts to connect, the first one at once, the others after pauses.

The pause doubles from `backoff_init_ns` to `backoff_max_ns`; half of it is random. Only a connection that worked resets
it, so that a peer that refuses connections right after the greeting is not flooded with attempts.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_media.sp.pair_params import PairParams


class Dialer:
    """Schedule of connection attempts; times are nanoseconds of the agent's clock."""

    def __init__(self, params: PairParams) -> None:
        self._init_ns = params.backoff_init_ns
        self._max_ns = params.backoff_max_ns
        self._backoff_ns = params.backoff_init_ns
        self._chance = random.getrandbits(31)
        self._retry_ns = 0
        self._is_first = True

    def is_due(self, now_ns: int) -> bool:
        """Return whether to connect now: before the first attempt, or after the pause that `on_lost` began."""
        return self._is_first or now_ns >= self._retry_ns

    def on_dialed(self) -> int:
        """Record an attempt; return 0."""
        self._is_first = False
        return 0

    def on_lost(self, now_ns: int) -> int:
        """Record a failed or lost connection and schedule the next attempt; return 0."""
        # Half of the pause is random, so that peers that lost the same listener do not all return at once.
        # Source of the generator: C11, 7.22.2.
        self._chance = (self._chance * 1103515245 + 12345) & 0x7FFFFFFF
        half = self._backoff_ns >> 1
        self._retry_ns = now_ns + half + ((half >> 10) * (self._chance >> 8) >> 13)
        self._backoff_ns = min(self._backoff_ns * 2, self._max_ns)
        return 0

    def on_good(self) -> int:
        """Record that a connection works, which resets the pause; return 0."""
        self._backoff_ns = self._init_ns
        return 0
