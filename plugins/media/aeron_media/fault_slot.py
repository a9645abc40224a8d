"""Fault slot: one fault of an endpoint, passed from an agent to the conductor without a lock.

Invariant: the agent writes only an empty slot and the conductor reads only a full one, so neither waits.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from aeron_core._native.address import SocketAddress
from aeron_core._native.atomic_long import AtomicLong
from aeron_core.errors import DESCRIPTOR_REMEDIES
from aeron_core.spi.endpoints import Fault


class FaultSlot:
    """Slot for one fault; further faults are dropped until the conductor has taken it.

    `describe(reason, value, limit)` returns the reason and the detail of a `Fault`. `unit` names what failed when the
    operating system reports the fault: a connection or a socket.
    """

    def __init__(
        self, describe: Callable[[int, int, int], tuple[str, str]], unit: str = "connection"
    ) -> None:
        self._describe = describe
        self._unit = unit
        self._is_full = AtomicLong(0)
        self._source = SocketAddress()

    def keep(self, reason: int, value: int, limit: int, error_code: int, source: SocketAddress) -> int:
        """Store a fault if the slot is empty; return 1, or 0 if it was full. Runs on the agent.

        `reason` 0: the operating system reported `error_code`, an errno; otherwise `describe` gets the first three
        arguments. `source` is copied: the address of the peer, or an unset one.
        """
        if self._is_full.get_acquire() != 0:
            return 0
        self._reason = reason
        self._value = value
        self._limit = limit
        self._error_code = error_code
        self._source.assign(source)
        # Release: the fields are stored first, so that a thread that loads the flag with acquire sees them.
        self._is_full.set_release(1)
        return 1

    def take(self) -> Fault | None:
        """Return the fault and empty the slot; None if there is no fault. Runs on the conductor."""
        if self._is_full.get_acquire() == 0:
            return None
        if self._reason == 0:
            detail = ""
            text = f"the {self._unit} failed: {os.strerror(self._error_code)}: {_remedy(self._error_code)}"
        else:
            text, detail = self._describe(self._reason, self._value, self._limit)
        fault = Fault(text, str(self._source) if self._source.is_set() else "", detail)
        self._is_full.set_release(0)
        return fault


def _remedy(error_code: int) -> str:
    if error_code == errno.EMSGSIZE:
        return "reduce mtu= of the channel"
    return DESCRIPTOR_REMEDIES.get(error_code, "check that the peer runs and can be reached")
