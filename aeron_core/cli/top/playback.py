"""Recorded moments: plays, pauses, steps and seeks in a history of counters.

Not here: reading the file (`aeron_core.observation.history`).
Invariant: memory is bounded. Of a history with more counters than `_MOST_COUNTERS`, every second snapshot is left out,
again and again; `stride` is then the number of recorded snapshots for each one that is shown.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from aeron_core.cli.top.sources import Moment, ObservedDriver, status_of
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.observation.history import CounterHistory
from aeron_core.observation.snapshots import DriverSnapshot
from aeron_core.uri.values import parse_duration_ns

_NS_PER_S: Final = 1_000_000_000
# Invented: a counter takes about 200 bytes.
_MOST_COUNTERS: Final = 1_000_000
#: Limits of the speed of playing, as a factor.
_SLOWEST, _FASTEST = 1 / 64, 1024.0
_PLACE: Final = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{0,9})?)(?P<unit>%?)")

GOAL_ALLOWED: Final = (
    "a number of a snapshot such as 12, a share such as 50%, or a time since the begin such as 90s"
)


class Playback:
    """A history with the place that is shown; what a recorder appends after `load` is not shown.

    `load` may run on a thread of its own; the other methods are for one thread at a time.
    """

    def __init__(self, path: Path, interval_s: float) -> None:
        """Read the first snapshot; raise the errors of `CounterHistory`. Rates are those over about `interval_s`."""
        self.path: Final = path
        self.is_playing = True
        self.speed = 1.0
        self.index = 0
        self.stride = 1
        #: Why not all of the file is here; empty if it is.
        self.problem = ""
        self.is_loaded = False
        #: Set by another thread to end `load` early.
        self.is_stopped = False
        self._interval_ns = round(interval_s * _NS_PER_S)
        self._history = CounterHistory(path)
        self._unread: Iterator[DriverSnapshot] = self._history.snapshots()
        first = next(self._unread, None)
        if first is None:
            raise ProtocolError(f"{path}: has no snapshot: wait until its recorder has written one")
        self._unread = chain([first], self._unread)
        self._snapshots = [first]
        self._clock_ns = 0

    @property
    def share_read(self) -> float:
        """Share of the file that was read, from 0 to 1; for any thread."""
        return self._history.share_read

    def load(self, on_share: Callable[[float], object] = lambda _: None) -> None:
        """Read the file to its end; where it is damaged, it ends for the view, and `problem` is the reason.

        `on_share` is called with the share of the file that was read.
        """
        kept: list[DriverSnapshot] = []
        counters = 0
        try:
            for number, snapshot in enumerate(self._unread):
                if self.is_stopped:
                    return
                on_share(self.share_read)
                if number % self.stride:
                    continue
                kept.append(snapshot)
                counters += len(snapshot.counters) + 1
                if counters > _MOST_COUNTERS and len(kept) > 2:
                    kept = kept[::2]
                    counters = sum(len(each.counters) + 1 for each in kept)
                    self.stride *= 2
        except (ProtocolError, OSError) as error:
            self.problem = str(error)
        if self._history.is_cut:
            self.problem = "not followed: its recorder still runs or was killed"
        # In one step: another thread may show a moment meanwhile.
        self._snapshots = kept or self._snapshots
        self.is_loaded = True

    @property
    def count(self) -> int:
        """The number of snapshots that can be shown."""
        return len(self._snapshots)

    @property
    def elapsed_s(self) -> float:
        """Seconds from the first snapshot to the one that is shown."""
        return self._elapsed_ns(self.index) / _NS_PER_S

    @property
    def duration_s(self) -> float:
        """Seconds from the first snapshot to the last one."""
        return self._elapsed_ns(self.count - 1) / _NS_PER_S

    def read(self) -> Moment:
        """Return the moment that is shown."""
        snapshot = self._snapshots[self.index]
        previous = self._previous()
        driver = ObservedDriver(snapshot.driver, status_of(snapshot.driver), snapshot, previous)
        return Moment(snapshot.time_ns, (driver,), self._events(snapshot))

    def advance(self, elapsed_s: float) -> None:
        """Move on by this time of a watch, times the speed; stop playing at the end of what was read."""
        if not self.is_playing or not self.is_loaded:
            return
        self._clock_ns += round(elapsed_s * self.speed * _NS_PER_S)
        self.index = self._index_at(self._clock_ns)
        if self.index == self.count - 1:
            self.is_playing = False

    def toggle(self) -> None:
        """Play or pause; at the end, play from the begin."""
        if not self.is_playing and self.index == self.count - 1:
            self.seek(0)
        self.is_playing = not self.is_playing

    def step(self, number: int) -> None:
        """Pause, and move by a number of snapshots, backwards if it is negative."""
        self.is_playing = False
        self.seek(self.index + number)

    def seek(self, index: int) -> None:
        """Show the snapshot with this index, or the nearest one."""
        self.index = max(0, min(index, self.count - 1))
        self._clock_ns = self._elapsed_ns(self.index)

    def seek_text(self, text: str) -> None:
        """Show what the text names, see `GOAL_ALLOWED`; raise ValueError if it is something else."""
        goal = text.replace(" ", "")
        if match := _PLACE.fullmatch(goal):
            number = float(match["number"])
            self.seek(round(number / 100 * (self.count - 1)) if match["unit"] else round(number) - 1)
            return
        try:
            elapsed_ns = parse_duration_ns(goal)
        except ConfigurationError:
            raise ValueError(f"{text[:30]!r}: must be {GOAL_ALLOWED}") from None
        self.seek(self._index_at(elapsed_ns))

    def change_speed(self, factor: float) -> None:
        """Play faster or slower, within limits."""
        self.speed = max(_SLOWEST, min(self.speed * factor, _FASTEST))

    def _elapsed_ns(self, index: int) -> int:
        return self._snapshots[index].monotonic_ns - self._snapshots[0].monotonic_ns

    def _index_at(self, elapsed_ns: int) -> int:
        time_ns = self._snapshots[0].monotonic_ns + elapsed_ns
        return max(bisect_right(self._snapshots, time_ns, key=lambda each: each.monotonic_ns) - 1, 0)

    def _previous(self) -> DriverSnapshot | None:
        """Return the snapshot about an interval before the shown one, of the same run of the driver."""
        if self.index == 0:
            return None
        shown = self._snapshots[self.index]
        index = min(self._index_at(self._elapsed_ns(self.index) - self._interval_ns), self.index - 1)
        return next(
            (each for each in self._snapshots[index : self.index] if each.is_same_driver(shown)), None
        )

    def _events(self, snapshot: DriverSnapshot) -> tuple[str, ...]:
        if self.index and not self._snapshots[self.index - 1].is_same_driver(snapshot):
            return (f"driver {snapshot.driver.aeron_dir} was started again: process {snapshot.driver.pid}",)
        return ()
