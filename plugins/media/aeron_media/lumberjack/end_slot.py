"""Why a connection ended last, on its way from an agent to the conductor.

Invariant: the agent writes an empty slot only, the conductor reads a full one only, so neither waits.
"""

from __future__ import annotations

import os
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.cell import AtomicLong
from aeron_core.spi.endpoints import Fault
from aeron_media.lumberjack._native import ends
from aeron_media.lumberjack.fault_texts import fault_text

_TEXTS: Final = {
    ends.UNFINISHED: "a window of {limit} events lacked {value}, or a frame its end, for longer than window-timeout=",
    ends.NOT_READ: "the writer has not read its acknowledgements for longer than write-timeout=",
    ends.NO_IMAGE: "no image could be made for it, or nobody subscribes to its session",
    ends.ABANDONED: "all who subscribed to it are gone; the writer will send again what was not acknowledged",
    ends.REJECTED: "a subscriber has rejected its image",
    ends.NOT_ACKNOWLEDGED: "the reader has acknowledged nothing for longer than timeout=, with {value} windows owed",
    ends.WRONG_ACK: "the reader acknowledges event {value} of a window of {limit}, or with version 1",
    ends.CLOSED: "the reader has closed the connection, with {value} windows unacknowledged: they are sent again",
    ends.NOT_CONNECTED: "no connection came about within timeout=",
    ends.TOO_LARGE: "a frame of {value} bytes or more, for which all connections may hold {limit}; max-memory= sets it",
    ends.TOO_MANY: "{value} connections: at most {limit}; max-connections= sets it",
}


class EndSlot:
    """Room for one end; more that come before it is taken are dropped, and are counted all the same."""

    def __init__(self) -> None:
        self._is_full = AtomicLong(0)
        self._peer = SocketAddress()

    def keep(self, reason: int, value: int, limit: int, error_code: int, peer: SocketAddress) -> int:
        """Keep one of `faults` or `ends`, or 0 with an errno; return whether there was room."""
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
        elif self._reason in _TEXTS:
            text = _TEXTS[self._reason].format(value=self._value, limit=self._limit)
        else:
            text = fault_text(self._reason, self._value, self._limit)
        fault = Fault(text, str(self._peer) if self._peer.is_set() else "")
        self._is_full.set_release(0)
        return fault
