"""When a connection is made again.

The pause doubles from `backoff_init_ns` up to `backoff_max_ns`, and half of it is left to chance. It is as short as in
the beginning only after a connection that was good for something: a peer that refuses us right after the greeting is
not stormed.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_media.sp.pair_params import PairParams


class Dialer:
    """Times are those of the agent's clock, in nanoseconds."""

    def __init__(self, params: PairParams) -> None:
        self._init_ns = params.backoff_init_ns
        self._max_ns = params.backoff_max_ns
        self._backoff_ns = params.backoff_init_ns
        self._chance = random.getrandbits(31)
        self._retry_ns = 0
        self._is_first = True

    def is_due(self, now_ns: int) -> bool:
        """Return whether to connect now."""
        return self._is_first or now_ns >= self._retry_ns

    def on_dialed(self) -> int:
        """Take note of an attempt; return 0."""
        self._is_first = False
        return 0

    def on_lost(self, now_ns: int) -> int:
        """Take note of a connection that did not come about, or is gone; return 0."""
        # Half of the time is left to chance, lest all who lost one peer come back at once. Source: C11, 7.22.2.
        self._chance = (self._chance * 1103515245 + 12345) & 0x7FFFFFFF
        half = self._backoff_ns >> 1
        self._retry_ns = now_ns + half + ((half >> 10) * (self._chance >> 8) >> 13)
        self._backoff_ns = min(self._backoff_ns * 2, self._max_ns)
        return 0

    def on_good(self) -> int:
        """Take note that a connection has been good for something; return 0."""
        self._backoff_ns = self._init_ns
        return 0
