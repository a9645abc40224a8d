"""Counters of connections that failed in TLS, one for each `FaultKind`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aeron_core._native.counter import AtomicCounter
from aeron_media.connections.relay.faults import FaultKind
from aeron_media.connections.tls.connections import TlsConnections


class TlsCounters:
    """Counters of failed TLS connections of one endpoint; used by the conductor.

    `new_counter` allocates a counter by its name, which begins with `prefix`.
    """

    def __init__(self, prefix: str, new_counter: Callable[[str], AtomicCounter]) -> None:
        self._counters = {kind: new_counter(f"{prefix}-rejects-tls-{kind.value}") for kind in FaultKind}

    def update(self, networks: Sequence[TlsConnections]) -> None:
        """Write the number of connections that failed in all of `networks`, by kind."""
        for kind, counter in self._counters.items():
            counter.set_release(sum(each.refused(kind) for each in networks))
