"""What went wrong with relayed connections, in words, on its way from the relay to the conductor."""

from __future__ import annotations

from collections import deque
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core.spi.endpoints import Fault

#: Faults that wait to be logged; more are dropped, so that a flood of them costs no memory. Our own number.
KEPT: Final = 16


class RelayFaults:
    """Kept by the relay's thread, taken by the conductor."""

    def __init__(self) -> None:
        # Appending and popping are atomic.
        self._kept: deque[Fault] = deque(maxlen=KEPT)

    def keep(self, text: str, peer: SocketAddress | None = None) -> None:
        """Keep a fault, and the peer that it came from."""
        self._kept.append(Fault(text, "" if peer is None else str(peer)))

    def take(self) -> Fault | None:
        """Return a fault that was not taken yet, the oldest first."""
        try:
            return self._kept.popleft()
        except IndexError:
            return None
