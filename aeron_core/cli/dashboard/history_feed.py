"""PageFeed of a recorded history: each session plays it on its own; plots show all of it.

Not here: reading the file (`aeron_core.observation.history`), and moving in it (`aeron_core.cli.top.playback`).
"""

from __future__ import annotations

import asyncio
import copy
import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

from aeron_core.cli.dashboard.documents import Json, clipped
from aeron_core.cli.dashboard.exchange import document_of_snapshots
from aeron_core.cli.dashboard.feed import SAMPLES, Subscribers
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.cli.dashboard.view import Reading, document_of
from aeron_core.cli.progress import share_bar
from aeron_core.cli.top.playback import Playback
from aeron_core.cli.top.sources import Moment

#: Seconds between two updates of a history that plays.
_TICK_S: Final = 0.5


class HistoryFeed:
    """A history of counters; raises the errors of `CounterHistory` if the file cannot be read."""

    def __init__(self, path: Path, interval_s: float) -> None:
        """Read the file."""
        self.subscribers = Subscribers()
        self._playback = Playback(path, interval_s)
        with share_bar("read") as show:
            self._playback.load(show)
        self._playback.is_playing = False
        self._trends = _trends_of(self._playback)
        # Moments cache what they have computed.
        self._lock = threading.Lock()

    async def run(self) -> None:
        """Wake the sessions regularly, until this task is cancelled."""
        while True:
            await asyncio.sleep(_TICK_S)
            self.subscribers.wake()

    def player(self) -> Playback:
        """Return controls that share the snapshots with those of other sessions."""
        return copy.copy(self._playback)

    def document(self, scope: str, player: Playback | None) -> dict[str, Json]:
        """Return the content of the page at the moment that a player shows."""
        player = player or self._playback
        with self._lock:
            reading = Reading(player.read(), player=_player_document(player))
            return document_of(reading, self._trends, scope if self._trends.has(scope) else ALL)

    def export(self) -> bytes:
        """Return no snapshots: what was recorded is no state of a driver of this machine."""
        return document_of_snapshots(())


def _player_document(player: Playback) -> Json:
    return {
        "index": player.index,
        "count": player.count,
        "elapsed": round(player.elapsed_s, 1),
        "duration": round(player.duration_s, 1),
        "playing": player.is_playing,
        "file": clipped(player.path.name),
        "problem": clipped(player.problem),
        "stride": player.stride,
    }


def _trends_of(playback: Playback) -> Trends:
    """Return the values of at most `SAMPLES` snapshots; rates are those since the snapshot before."""
    trends = Trends(SAMPLES)
    walker = copy.copy(playback)
    before = None
    step = -(-walker.count // SAMPLES)
    for index in range(0, walker.count, step):
        walker.seek(index)
        moment = walker.read()
        (driver,) = moment.drivers
        is_same = (
            before is not None and driver.snapshot is not None and before.is_same_driver(driver.snapshot)
        )
        # A new driver, which has not computed rates yet.
        driver = replace(driver, previous=before if is_same else None)
        trends.add(Moment(moment.time_ns, (driver,)))
        before = driver.snapshot
    return trends
