"""Feed of the page: reads drivers regularly on a thread, and returns the content of the page to each session.

Not here: the content itself (`view`).
Invariant: only `LiveFeed.run` reads; sessions share what it has read, however many there are.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aeron_core.cli.dashboard.documents import Json
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.cli.dashboard.view import Reading, document_of
from aeron_core.cli.top.sources import MomentSource

#: Samples of a plot. Invented: five minutes at the default interval.
SAMPLES: Final = 300


class LiveFeed:
    """Drivers that run; `subscribed` sessions are woken by each reading, and get its content with `document`."""

    def __init__(self, source: MomentSource, interval_s: float) -> None:
        """Read nothing yet."""
        self.interval_s: Final = interval_s
        self._source = source
        self._trends = Trends(SAMPLES)
        self._reading: Reading | None = None
        self._document: dict[str, Json] = {}
        self._subscribers: set[asyncio.Event] = set()
        # `read` and `document` run on different threads of a pool.
        self._lock = threading.Lock()

    async def run(self) -> None:
        """Read again and again, until this task is cancelled."""
        while True:
            await asyncio.to_thread(self.read)
            for changed in self._subscribers:
                changed.set()
            await asyncio.sleep(self.interval_s)

    def read(self) -> None:
        """Read once; takes the time of the files of all drivers."""
        moment = self._source.read()
        with self._lock:
            self._trends.add(moment)
            self._reading = Reading(moment)
            self._document = document_of(self._reading, self._trends, ALL)

    @contextmanager
    def subscribed(self, changed: asyncio.Event) -> Iterator[None]:
        """Set an event after each reading, until the end of the block."""
        self._subscribers.add(changed)
        try:
            yield
        finally:
            self._subscribers.discard(changed)

    def document(self, scope: str) -> dict[str, Json]:
        """Return the content of the page, empty before the first reading; an unknown `scope` is that of all streams."""
        with self._lock:
            if self._reading is None or scope == ALL or not self._trends.has(scope):
                return self._document
            return document_of(self._reading, self._trends, scope)
