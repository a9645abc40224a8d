"""Feeds of the page: read drivers regularly on a thread, and return the content of the page to each session.

Not here: the content itself (`view`), and recorded drivers (`history_feed`).
Invariant: only `LiveFeed.run` reads; sessions share what it has read, however many there are.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from aeron_core.cli.dashboard.documents import Json
from aeron_core.cli.dashboard.driver_settings import SettingsReader
from aeron_core.cli.dashboard.exchange import document_of_snapshots
from aeron_core.cli.dashboard.recordings import ARCHIVE_INTERVAL_S, ArchiveReader
from aeron_core.cli.dashboard.remote import RemoteSource, query_table, without_repetitions
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.cli.dashboard.view import Reading, document_of
from aeron_core.cli.top.playback import Playback
from aeron_core.cli.top.sources import DriverStatus, Moment, MomentSource

#: Samples of a plot. Invented: five minutes at the default interval.
SAMPLES: Final = 300


class Subscribers:
    """Sessions that wait for something new, by their events; used by the event loop only."""

    def __init__(self) -> None:
        self._events: set[asyncio.Event] = set()

    def wake(self) -> None:
        """Set all events."""
        for event in self._events:
            event.set()

    @contextmanager
    def including(self, event: asyncio.Event) -> Iterator[None]:
        """Set this event too, until the end of the block."""
        self._events.add(event)
        try:
            yield
        finally:
            self._events.discard(event)


class PageFeed(Protocol):
    """Gives the sessions of a server their content; `document` and `export` run on any thread."""

    subscribers: Subscribers

    async def run(self) -> None:
        """Read, and wake the subscribers after each reading, until this task is cancelled."""

    def player(self) -> Playback | None:
        """Return the controls of a new session, None for drivers that run."""

    def document(self, scope: str, player: Playback | None) -> dict[str, Json]:
        """Return the content of the page, empty before the first reading; an unknown `scope` is that of all streams."""

    def export(self) -> bytes:
        """Return the snapshots of the drivers of this machine for other dashboards."""


class LiveFeed:
    """Drivers that run, on this machine and elsewhere."""

    def __init__(
        self,
        source: MomentSource,
        interval_s: float,
        *,
        remotes: Sequence[RemoteSource] = (),
        archives: Sequence[str] = (),
    ) -> None:
        """Read nothing yet."""
        self.subscribers = Subscribers()
        self._interval_s: Final = interval_s
        self._source = source
        self._remotes = remotes
        self._archives = ArchiveReader(archives)
        self._has_archives = bool(archives)
        self._settings = SettingsReader()
        self._trends = Trends(SAMPLES)
        self._local = Moment(0)
        self._reading: Reading | None = None
        #: Content for all streams, once a session has asked for it.
        self._document: dict[str, Json] | None = None
        # `read` and `document` run on different threads of a pool.
        self._lock = threading.Lock()

    async def run(self) -> None:
        """Read again and again, remote sources and archives on their own, until this task is cancelled."""
        is_over = threading.Event()
        sources: list[tuple[RemoteSource | ArchiveReader, float]] = [
            (remote, self._interval_s) for remote in self._remotes
        ]
        if self._has_archives:
            sources.append((self._archives, ARCHIVE_INTERVAL_S))
        for source in sources:
            # Not of a pool: a host that does not answer must delay neither others nor the end of the process.
            threading.Thread(
                target=_read_repeatedly, args=(*source, is_over), name="aeron-remote", daemon=True
            ).start()
        try:
            while True:
                await asyncio.to_thread(self.read)
                self.subscribers.wake()
                await asyncio.sleep(self._interval_s)
        finally:
            is_over.set()

    def read(self) -> None:
        """Read the drivers of this machine, and add what was read last of others."""
        local = self._source.read()
        drivers = without_repetitions(local.drivers, self._remotes)
        moment = Moment(local.time_ns, tuple(drivers), local.events)
        # Computed here, outside of the lock.
        _ = moment.limitations
        reading = Reading(
            moment,
            self._archives.found,
            self._settings.read(local),
            query_table(self._remotes),
            (*filter(None, (each.problem for each in self._remotes)), *self._archives.problems),
        )
        with self._lock:
            self._trends.add(moment)
            self._local, self._reading = local, reading
            self._document = None

    def player(self) -> None:
        """Return None: drivers that run cannot be paused."""

    def document(self, scope: str, _player: Playback | None = None) -> dict[str, Json]:
        """Return the content of the page, empty before the first reading; an unknown `scope` is that of all streams."""
        with self._lock:
            if self._reading is None:
                return {}
            if scope != ALL and self._trends.has(scope):
                return document_of(self._reading, self._trends, scope)
            if self._document is None:
                self._document = document_of(self._reading, self._trends, ALL)
            return self._document

    def export(self) -> bytes:
        """Return the snapshots of the drivers of this machine that are alive."""
        return document_of_snapshots(
            driver.snapshot
            for driver in self._local.drivers
            if driver.snapshot is not None and driver.status is DriverStatus.ALIVE
        )


def _read_repeatedly(
    source: RemoteSource | ArchiveReader, interval_s: float, is_over: threading.Event
) -> None:
    while not is_over.is_set():
        source.read()
        is_over.wait(interval_s)
