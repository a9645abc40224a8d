"""Deliberate loss of datagrams, reproducible by seed."""

from __future__ import annotations

import random
from typing import Final

from aeron_core.spi.media import LossRates

_STATE_BITS: Final = 64
_RATE_BITS: Final = 53  # the mantissa of a double
_STATE_MASK: Final = (1 << _STATE_BITS) - 1


class LossGenerator:
    """Drops a share of datagrams, by the upper bits of a xorshift64* generator.

    https://en.wikipedia.org/wiki/Xorshift#xorshift*
    """

    def __init__(self, rates: LossRates) -> None:
        is_random = rates.seed in (0, -1)
        seed = random.getrandbits(_STATE_BITS) if is_random else rates.seed & _STATE_MASK
        # Spread small seeds over all bits (finalizer of splitmix64), so that the first results differ, too.
        seed = ((seed ^ seed >> 30) * 0xBF58476D1CE4E5B9) & _STATE_MASK
        seed = ((seed ^ seed >> 27) * 0x94D049BB133111EB) & _STATE_MASK
        self._state = (seed ^ seed >> 31) or 1
        self._multiplier = 0x2545F4914F6CDD1D
        self._threshold = int(rates.rate * (1 << _RATE_BITS))

    def should_drop(self) -> bool:
        """Return whether to drop the next datagram."""
        state = self._state
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        self._state = state
        state *= self._multiplier
        return (state >> 11) < self._threshold
