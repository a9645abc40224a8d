"""What went wrong with relayed connections, in words, on its way from the relay to the conductor."""

from __future__ import annotations

import enum
from collections import Counter, deque
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core.spi.endpoints import Fault

#: Faults that wait to be logged; more are dropped, so that a flood of them costs no memory. Our own number.
KEPT: Final = 16


class FaultKind(enum.Enum):
    """Why there is no connection, as it is counted."""

    CERTIFICATE = "certificate"
    PROTOCOL = "protocol"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    OTHER = "other"


class RelayFaults:
    """Kept by the relay's thread, taken by the conductor."""

    def __init__(self) -> None:
        # Appending and popping are atomic.
        self._kept: deque[Fault] = deque(maxlen=KEPT)
        self._counts: Counter[FaultKind] = Counter()

    def keep(self, text: str, peer: SocketAddress | None = None, kind: FaultKind | None = None) -> None:
        """Keep a fault, and the peer that it came from; count it where it is of a `kind`."""
        self._kept.append(Fault(text, "" if peer is None else str(peer)))
        if kind is not None:
            self._counts[kind] += 1

    def count(self, kind: FaultKind) -> int:
        """Return how many of a kind there were."""
        return self._counts[kind]

    def take(self) -> Fault | None:
        """Return a fault that was not taken yet, the oldest first."""
        try:
            return self._kept.popleft()
        except IndexError:
            return None
