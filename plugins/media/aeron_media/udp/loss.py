"""Deliberate loss of datagrams, reproducible by seed."""

from __future__ import annotations

import random

from aeron_core._native import xorshift
from aeron_core._native.xorshift import Xorshift
from aeron_core.spi.media import LossRates


class LossGenerator:
    """Random choice of the datagrams to drop, at the rate and with the seed of `rates`; used by one thread.

    With the seed 0 or -1 the choice differs each time.
    """

    def __init__(self, rates: LossRates) -> None:
        self._random = Xorshift(random.getrandbits(64) if rates.seed in (0, -1) else rates.seed)
        self._threshold = int(rates.rate * 2.0**xorshift.RANDOM_BITS)

    def should_drop(self) -> bool:
        """Return whether to drop the next datagram."""
        return self._random.next() < self._threshold
