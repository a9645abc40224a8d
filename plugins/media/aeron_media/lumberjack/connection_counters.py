"""Counters of single connections, which are freed when the connection is gone.

The conductor writes them from the connections' own counts. The number of connections with counters is limited, so that
peers cannot exhaust the counters of the driver; the counters of the endpoint include all connections.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from aeron_core._native.counter import AtomicCounter
from aeron_core.errors import StorageError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counts of one connection; `key` is unique over time, `label` names the peer."""

    key: Hashable
    label: str
    values: Sequence[int]


class ConnectionCounters:
    """Counters of the connections of an endpoint; used by the conductor.

    `names` has one counter name for each value of a snapshot. At most `max_connections` connections have counters.
    """

    def __init__(
        self,
        names: Sequence[str],
        max_connections: int,
        new_counter: Callable[[str], AtomicCounter],
        free_counter: Callable[[AtomicCounter], None],
    ) -> None:
        self._names = names
        self._max_connections = max_connections
        self._new_counter = new_counter
        self._free_counter = free_counter
        self._counters: dict[Hashable, list[AtomicCounter]] = {}

    def update(self, snapshots: Iterable[Snapshot]) -> None:
        """Write the counts of the current connections; allocate counters for new ones.

        Counters of connections that are not in `snapshots` are freed first. A connection beyond `max_connections`, or
        for which the driver has no free counters, is left out until a later call finds some.
        """
        found = {snapshot.key: snapshot for snapshot in snapshots}
        for key in self._counters.keys() - found.keys():
            for counter in self._counters.pop(key):
                self._free_counter(counter)
        for key, snapshot in found.items():
            if key not in self._counters and len(self._counters) < self._max_connections:
                self._begin(snapshot)
            for counter, value in zip(self._counters.get(key, ()), snapshot.values, strict=False):
                counter.set_release(value)

    def close(self) -> None:
        """Release the callbacks; call nothing afterwards.

        They belong to the driver's record of the endpoint, which frees the counters. It refers to the endpoint, so
        keeping them would be a reference cycle.
        """
        self._counters.clear()
        del self._new_counter, self._free_counter

    def _begin(self, snapshot: Snapshot) -> None:
        made: list[AtomicCounter] = []
        try:
            for name in self._names:
                made.append(self._new_counter(f"{name}: {snapshot.label}"))  # noqa: PERF401 - may fail midway
        except StorageError:
            # The driver has no free counters: count this connection in the counters of the endpoint only.
            for counter in made:
                self._free_counter(counter)
            return
        self._counters[snapshot.key] = made
