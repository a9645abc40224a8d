"""The last thing that went wrong at an endpoint, on its way from an agent to the conductor.

Invariant: the agent writes an empty slot only, the conductor reads a full one only, so neither waits.
"""

from __future__ import annotations

import os
from typing import Final

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.cell import AtomicLong
from aeron_core.spi.endpoints import Fault

_REASONS: Final = {
    wire.FRAME_TOO_SHORT: "packet is shorter than its frame type needs",
    wire.FRAME_BAD_VERSION: f"frame version is not {wire.FRAME_VERSION}",
    wire.FRAME_BAD_LENGTH: "frame length is too short, beyond the packet or its term, or not aligned",
    wire.FRAME_BAD_TYPE: "frame type is not known",
    wire.FRAME_BAD_FIELD: "a field of the frame is out of its range",
}


class FaultSlot:
    """Room for one fault; more that come before it is taken are dropped."""

    def __init__(self) -> None:
        self._is_full = AtomicLong(0)
        self._source = SocketAddress()

    def keep(self, code: int, source: SocketAddress) -> int:
        """Keep a negative `wire.FRAME_...` or an errno, if there is room; return whether there was."""
        if self._is_full.get_acquire() != 0:
            return 0
        self._code = code
        self._source.assign(source)
        # Release: who sees a full slot sees what is in it.
        self._is_full.set_release(1)
        return 1

    def take(self) -> Fault | None:
        """Return the fault, if there is one, and make room for the next."""
        if self._is_full.get_acquire() == 0:
            return None
        source = str(self._source) if self._source.is_set() else ""
        if self._code > 0:
            fault = Fault(f"the socket failed: {os.strerror(self._code)}", source)
        else:
            fault = Fault(_REASONS[self._code], source)
        self._is_full.set_release(0)
        return fault
