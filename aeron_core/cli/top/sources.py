"""Sources of the view: what all drivers showed at one moment.

Not here: recorded moments (`playback`), and their display (`tables`, `detail`).
Invariant: a driver that cannot be read, or no longer, is a value, never an exception.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from aeron_core.errors import AeronError
from aeron_core.frozen import frozen
from aeron_core.observation.drivers import DriverState, states_of
from aeron_core.observation.limitation import Limitation
from aeron_core.observation.limits import limitations
from aeron_core.observation.mapped_directories import MappedDirectories
from aeron_core.observation.rates import CounterRates, rates_between
from aeron_core.observation.snapshots import DriverObserver, DriverSnapshot


class DriverStatus(StrEnum):
    """State of a driver, as the view shows it."""

    ALIVE = "alive"
    ENDED = "ended"  # it was shut down, its files remain
    DEAD = "dead"  # no heartbeat for 10 s
    GONE = "gone"  # its directory was deleted while the view was running
    UNREADABLE = "not readable"


@frozen()
class ObservedDriver:
    """A driver at one moment; without a snapshot, `state.problem` is the reason.

    `home`: the directory on its own host, for a driver that is read from elsewhere; None if unknown.
    """

    state: DriverState
    status: DriverStatus
    snapshot: DriverSnapshot | None = None
    previous: DriverSnapshot | None = None  # an earlier one of the same run of the driver
    home: Path | None = None

    @property
    def identity(self) -> tuple[str, int, int] | None:
        """What is the same of this driver however it is read, None if unknown."""
        if self.state.pid is None or self.state.start_timestamp_ms is None:
            return None
        return str(self.home or self.state.aeron_dir), self.state.pid, self.state.start_timestamp_ms

    @cached_property
    def rates(self) -> CounterRates | None:
        """The rates since the previous snapshot, None without one."""
        if self.snapshot is None or self.previous is None:
            return None
        if self.snapshot.monotonic_ns <= self.previous.monotonic_ns:
            return None
        return rates_between(self.previous, self.snapshot)


@frozen()
class Moment:
    """What all drivers showed at about one time; `events`: what has changed since the moment before, as sentences."""

    time_ns: int  # since the epoch
    drivers: tuple[ObservedDriver, ...] = ()
    events: tuple[str, ...] = ()

    @cached_property
    def limitations(self) -> list[tuple[ObservedDriver, Limitation]]:
        """The limitation of each log, with the driver of the log."""
        snapshots = [each.snapshot for each in self.drivers if each.snapshot is not None]
        return [
            (driver, limit)
            for driver in self.drivers
            if driver.snapshot is not None
            for limit in limitations(
                driver.snapshot,
                driver.previous,
                [other for other in snapshots if other is not driver.snapshot],
            )
        ]


class MomentSource(Protocol):
    """Yields moments to the view. One thread at a time."""

    def read(self) -> Moment:
        """Return what to show now; may read files."""


def status_of(state: DriverState) -> DriverStatus:
    """Return the status of a driver whose directory exists."""
    if state.problem:
        return DriverStatus.UNREADABLE
    if state.is_alive:
        return DriverStatus.ALIVE
    return DriverStatus.ENDED if state.heartbeat_age_ms is None else DriverStatus.DEAD


class LiveSource:
    """Reads the drivers of this machine, or only those in `directories`. One thread at a time."""

    def __init__(self, directories: Iterable[Path | str] = ()) -> None:
        """Open nothing: drivers may start later."""
        self._directories: Final = [Path(each) for each in directories]
        #: None if the directories are named.
        self._mapped: Final = None if self._directories else MappedDirectories()
        self._observers: dict[str, DriverObserver] = {}
        self._before: dict[str, ObservedDriver] = {}

    def read(self) -> Moment:
        """Return what the drivers show now; a driver that was seen before remains in the result."""
        states = states_of(self._directories, self._mapped)
        found = {os.path.realpath(state.aeron_dir): state for state in states}
        self._follow_links(found)
        drivers: dict[str, ObservedDriver] = {}
        for path, state in found.items():
            drivers[path] = self._observed(path, state)
        for path, before in self._before.items():
            if path not in drivers:
                drivers[path] = self._gone(path, before)
        events = [
            event
            for path, driver in drivers.items()
            for event in _events(self._before.get(path), driver)
            if self._before
        ]
        self._before = drivers
        return Moment(time.time_ns(), tuple(drivers.values()), tuple(events))

    def _follow_links(self, found: Mapping[str, DriverState]) -> None:
        """Rename what is kept of a driver whose directory was a symbolic link, and is another one now, or none."""
        known = {driver.state.aeron_dir: path for path, driver in self._before.items()}
        for path, state in found.items():
            before = known.get(state.aeron_dir, path)
            if before != path and before not in found and path not in self._before:
                self._before[path] = self._before.pop(before)
                # It has mapped the files of the former target.
                self._observers.pop(before, None)

    def _observed(self, path: str, state: DriverState) -> ObservedDriver:
        before = self._before.get(path)
        if state.problem:
            if before is not None and before.state.pid is not None and not _has_files(state.aeron_dir):
                return self._gone(path, before)
            self._observers.pop(path, None)
            return ObservedDriver(state, DriverStatus.UNREADABLE)
        observer = self._observers.setdefault(path, DriverObserver(state.aeron_dir))
        try:
            snapshot = observer.snapshot()
        except (AeronError, OSError) as error:
            del self._observers[path]
            return ObservedDriver(DriverState(state.aeron_dir, problem=str(error)), DriverStatus.UNREADABLE)
        previous = None if before is None else before.snapshot
        if previous is not None and not previous.is_same_driver(snapshot):
            previous = None
        return ObservedDriver(snapshot.driver, status_of(snapshot.driver), snapshot, previous)

    def _gone(self, path: str, before: ObservedDriver) -> ObservedDriver:
        # Releases the files, which are still mapped.
        self._observers.pop(path, None)
        state = DriverState(before.state.aeron_dir, pid=before.state.pid, problem="its directory was deleted")
        return ObservedDriver(state, DriverStatus.GONE)


def _has_files(aeron_dir: Path) -> bool:
    return any(os.scandir(aeron_dir)) if aeron_dir.is_dir() else False


def _events(before: ObservedDriver | None, now: ObservedDriver) -> list[str]:
    name = f"driver {now.state.aeron_dir}"
    if before is None:
        return [f"{name} is new: {now.status}"]
    if before.snapshot and now.snapshot and not before.snapshot.is_same_driver(now.snapshot):
        return [f"{name} was started again: process {now.state.pid} instead of {before.state.pid}"]
    if before.status is now.status:
        return []
    if now.status is DriverStatus.ALIVE:
        return [f"{name} is alive again"]
    return [f"{name} is {now.status}" + (f": {now.state.problem}" if now.state.problem else "")]
