"""Why something went wrong last at an endpoint, on its way from an agent to the conductor.

Invariant: the agent writes an empty slot only, the conductor reads a full one only, so neither waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from aeron_core._native.address import SocketAddress
from aeron_core._native.cell import AtomicLong
from aeron_core.spi.endpoints import Fault


class EndSlot:
    """Room for one end; more that come before it is taken are dropped, and are counted all the same.

    `describe` says a reason in words, with what was found and what is allowed.
    """

    def __init__(self, describe: Callable[[int, int, int], str]) -> None:
        self._describe = describe
        self._is_full = AtomicLong(0)
        self._peer = SocketAddress()

    def keep(self, reason: int, value: int, limit: int, error_code: int, peer: SocketAddress) -> int:
        """Keep a reason, or 0 with an errno; return whether there was room."""
        if self._is_full.get_acquire() != 0:
            return 0
        self._reason = reason
        self._value = value
        self._limit = limit
        self._error_code = error_code
        self._peer.assign(peer)
        # Release: who sees a full slot sees what is in it.
        self._is_full.set_release(1)
        return 1

    def take(self) -> Fault | None:
        """Return the end, if there is one, and make room for the next."""
        if self._is_full.get_acquire() == 0:
            return None
        if self._reason == 0:
            text = f"the connection failed: {os.strerror(self._error_code)}"
        else:
            text = self._describe(self._reason, self._value, self._limit)
        fault = Fault(text, str(self._peer) if self._peer.is_set() else "")
        self._is_full.set_release(0)
        return fault
