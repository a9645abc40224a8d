"""Faults of relayed connections, passed from the relay thread to the conductor."""

from __future__ import annotations

import enum
import threading
from collections import Counter, deque
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core.spi.endpoints import Fault

#: Maximum number of faults that wait to be logged; older ones are dropped, so that a flood cannot fill the memory.
#: Invented.
KEPT: Final = 16


class FaultKind(enum.Enum):
    """Categories in which failed connections are counted."""

    CERTIFICATE = "certificate"
    PROTOCOL = "protocol"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    OTHER = "other"


class RelayFaults:
    """Queue and counts of faults; relay threads write it, the conductor reads it."""

    def __init__(self) -> None:
        # Without a lock: appending to a deque and popping from it are atomic.
        self._kept: deque[Fault] = deque(maxlen=KEPT)
        self._counts: Counter[FaultKind] = Counter()
        # Adding to a count is not atomic, and a network can have several relay threads.
        self._lock = threading.Lock()

    def keep(
        self, text: str, peer: SocketAddress | None = None, kind: FaultKind | None = None, detail: str = ""
    ) -> None:
        """Store a fault and the address of its peer, None without one; count it if `kind` is given.

        `text` has no values that a peer chose; `detail` may have.

        Drops the oldest fault if KEPT faults are stored. Any thread may call it.
        """
        # A full deque drops its oldest entry; the counts stay complete.
        self._kept.append(Fault(text, "" if peer is None else str(peer), detail))
        if kind is not None:
            with self._lock:
                self._counts[kind] += 1

    def count(self, kind: FaultKind) -> int:
        """Return how many faults of a kind were counted since this object was created, including dropped ones."""
        return self._counts[kind]

    def take(self) -> Fault | None:
        """Remove and return the oldest fault; None if there is none."""
        try:
            return self._kept.popleft()
        except IndexError:
            return None
