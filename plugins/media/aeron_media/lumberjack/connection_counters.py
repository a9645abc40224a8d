"""Counters of single connections, for as long as each is there.

No agent writes them: the conductor looks at what connections have counted for themselves. So that who connects cannot
have more of them made than there is room for, only so many connections at a time have any; all are counted in those of
the endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from aeron_core._native.counter import Counter
from aeron_core.errors import StorageError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a connection has counted; `key` is never that of another one, `label` says whose it is."""

    key: Hashable
    label: str
    values: Sequence[int]


class ConnectionCounters:
    """Used by the conductor. `names` are of what is counted, in the order of a snapshot's values."""

    def __init__(
        self,
        names: Sequence[str],
        max_connections: int,
        new_counter: Callable[[str], Counter],
        free_counter: Callable[[Counter], None],
    ) -> None:
        self._names = names
        self._max_connections = max_connections
        self._new_counter = new_counter
        self._free_counter = free_counter
        self._counters: dict[Hashable, list[Counter]] = {}

    def update(self, snapshots: Iterable[Snapshot]) -> None:
        """Take the connections that there are: others lose their counters, and leave them to those that are new."""
        found = {snapshot.key: snapshot for snapshot in snapshots}
        for key in self._counters.keys() - found.keys():
            for counter in self._counters.pop(key):
                self._free_counter(counter)
        for key, snapshot in found.items():
            if key not in self._counters and len(self._counters) < self._max_connections:
                self._begin(snapshot)
            for counter, value in zip(self._counters.get(key, ()), snapshot.values, strict=False):
                counter.set_release(value)

    def _begin(self, snapshot: Snapshot) -> None:
        made: list[Counter] = []
        try:
            for name in self._names:
                made.append(self._new_counter(f"{name}: {snapshot.label}"))  # noqa: PERF401 - may fail midway
        except StorageError:
            # There is no room for more counters: those of the endpoint have to do.
            for counter in made:
                self._free_counter(counter)
            return
        self._counters[snapshot.key] = made
