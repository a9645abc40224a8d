"""Delays before a receiver requests a retransmission (NAK).

With one receiver, the delays are fixed. The receivers of a group wait for random times, so that not all of them
request the same gap: the waits are exponential, not uniform, and therefore only few receivers wait for a short time,
whatever the real size of the group up to the configured one. The retransmission for those closes the gap of the others.
Source of the random delay: RFC 5401, 5.2.1 (RandomBackoff), of which this is the shorter form: with a uniform random
U, T/lambda * ln(1 + U * (e^lambda - 1)), where lambda = ln(group size) + 1 and T is the longest wait.
"""

from __future__ import annotations

import math

import cython
from cython.cimports.libc.math import log

from aeron_core._native import xorshift
from aeron_core._native.xorshift import Xorshift


class NakDelay:
    """Base of the delays before a gap is requested; used by the receiver only."""

    def delay_ns(self, is_retry: bool) -> int:
        """Return the delay in nanoseconds before the first request of a gap, or before a retry."""
        return 0


class UnicastNakDelay(NakDelay):
    """Fixed delays, for a stream with one receiver."""

    def __init__(self, first_ns: int, retry_ns: int) -> None:
        self._first_ns = first_ns
        self._retry_ns = retry_ns

    def delay_ns(self, is_retry: bool) -> int:
        """See `NakDelay.delay_ns`."""
        return self._retry_ns if is_retry else self._first_ns


class MulticastNakDelay(NakDelay):
    """Random delays from 0 to `max_backoff_ns`, for a group of about `group_size`; `seed` makes them repeatable."""

    def __init__(self, group_size: int, max_backoff_ns: int, seed: int) -> None:
        # lambda of RFC 5401.
        growth = math.log(group_size) + 1
        self._scale = max_backoff_ns / growth
        self._spread = math.exp(growth) - 1
        # Random numbers times this are uniform in [0, 1).
        self._unit = 2.0**-xorshift.RANDOM_BITS
        self._random = Xorshift(seed)

    def delay_ns(self, is_retry: bool) -> int:
        """See `NakDelay.delay_ns`; retries are as random as the first request."""
        uniform = cython.cast(cython.double, self._random.next()) * self._unit
        return cython.cast(cython.longlong, self._scale * log(1.0 + uniform * self._spread))
