"""Clients of a driver, from the counters with their heartbeats.

A label is `client-heartbeat: id=7 name=app version=1.2.3 commit=… pid=4711`. The driver writes the id; name, version
and process id are appended by the client, as far as they fit: old clients append nothing, those of Aeron no process id.
The process id is that of the client's own namespace: that of a container is another one outside of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from aeron_core.concurrent.counter_types import CLIENT_HEARTBEAT
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.frozen import frozen

# The name is whatever the application chose, also with blanks: it ends at the last version.
_LABEL: Final = re.compile(
    r"client-heartbeat: id=-?\d+(?: name=(?P<name>.*?))?(?: version=(?P<version>\S*)(?: commit=\S*)?)?"
    r"(?: pid=(?P<pid>\d{1,10}))?",
    re.DOTALL,
)


@frozen(slots=True)
class ObservedClient:
    """One client; `name`, `version` and `pid` are what it has written itself, empty or None without."""

    id: int  # id of the client, which owns counters
    name: str  # name that the application chose
    version: str  # version of the client library
    pid: int | None  # process id, in the client's namespace
    heartbeat_age_ms: int | None  # of the last heartbeat, at least 0; None before the first one

    @property
    def description(self) -> str:
        """The client as text, such as `process 4711 (app)`, `client 7 (app)` or `client 7`."""
        what = f"client {self.id}" if self.pid is None else f"process {self.pid}"
        return f"{what} ({self.name})" if self.name else what


def clients_of(records: Iterable[CounterRecord], epoch_ms: int) -> dict[int, ObservedClient]:
    """Return the clients by id; `epoch_ms` is the time at which the counters were read."""
    return {
        record.registration_id: _client(record, epoch_ms)
        for record in records
        if record.type_id == CLIENT_HEARTBEAT
    }


def _client(record: CounterRecord, epoch_ms: int) -> ObservedClient:
    match = _LABEL.fullmatch(record.label)
    groups = match.groupdict() if match else {}
    pid = groups.get("pid")
    return ObservedClient(
        record.registration_id,
        groups.get("name") or "",
        groups.get("version") or "",
        int(pid) if pid else None,
        # The clock may have been set back since the heartbeat.
        max(epoch_ms - record.value, 0) if record.value > 0 else None,
    )
