"""Plots of a history of counters: rates, lags and losses of its streams, or chosen counters.

Not here: the options of the command (`plot`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aeron_core.cli.plots.figure import drawn, label_text, show_units
from aeron_core.cli.plots.series import Series
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.concurrent.error_report import date_of
from aeron_core.observation.snapshots import DriverSnapshot
from aeron_core.observation.streams import ReceivedStream, SentStream, StreamSession, lag

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
# Invented: with more lines, their colours repeat. A history may have any number of counters.
_MOST_LINES: Final = 12
_MOST_SERIES: Final = 2000

_Key = tuple[object, ...]


@dataclass
class HistoryPlot:
    """Collects snapshots, in their order, and draws them. A stream or session id of None stands for any."""

    stream_id: int | None = None
    session_id: int | None = None
    #: Whether a counter is drawn; None: draw streams instead.
    selects: Callable[[CounterRecord], bool] | None = None
    snapshots: int = 0
    _title: str = ""
    _begin_ns: int = 0
    _positions: dict[_Key, Series] = field(default_factory=dict)
    _lags: dict[_Key, Series] = field(default_factory=dict)
    _losses: dict[_Key, Series] = field(default_factory=dict)
    _counters: dict[_Key, Series] = field(default_factory=dict)

    def add(self, snapshot: DriverSnapshot) -> None:
        """Add a snapshot, which was taken after the previous one."""
        if not self.snapshots:
            self._begin_ns = snapshot.monotonic_ns
            self._title = f"{snapshot.driver.aeron_dir} from {date_of(snapshot.time_ns // _NS_PER_MS)}"
        self.snapshots += 1
        time_s = (snapshot.monotonic_ns - self._begin_ns) / _NS_PER_S
        if self.selects is not None:
            self._add_counters(snapshot, time_s, self.selects)
            return
        for stream in snapshot.streams:
            if self._has(stream.stream_id, stream.session_id):
                self._add_stream(stream, time_s)
        for entry in snapshot.losses:
            if self._has(entry.stream_id, entry.session_id):
                label = f"stream {entry.stream_id} from {entry.source}"
                key = (entry.stream_id, entry.session_id, entry.channel, entry.source)
                self._put(self._losses, key, label, time_s, entry.total_bytes_lost)

    def _has(self, stream_id: int, session_id: int) -> bool:
        return self.stream_id in (None, stream_id) and self.session_id in (None, session_id)

    def _add_counters(
        self, snapshot: DriverSnapshot, time_s: float, selects: Callable[[CounterRecord], bool]
    ) -> None:
        for record in snapshot.counters:
            if selects(record):
                key = (record.id, record.type_id, record.registration_id, record.label)
                self._put(self._counters, key, record.label, time_s, record.value)

    def _add_stream(self, stream: StreamSession, time_s: float) -> None:
        identity = (stream.stream_id, stream.session_id)
        logs: list[SentStream | ReceivedStream] = [*stream.publications.values(), *stream.images.values()]
        for log in logs:
            for name, value in _positions_of(log):
                label = f"stream {stream.stream_id} {name} {log.channel}"
                self._put(self._positions, (*identity, log.registration_id, name), label, time_s, value)
            for name, value in _lags_of(log):
                label = f"stream {stream.stream_id} {name}"
                key = (*identity, log.registration_id, name)
                self._put(self._lags, key, label, time_s, value, keeps_peaks=True)

    @staticmethod
    def _put(  # noqa: PLR0913 - a point and its series
        series: dict[_Key, Series],
        key: _Key,
        label: str,
        time_s: float,
        value: int,
        *,
        keeps_peaks: bool = False,
    ) -> None:
        if key not in series and len(series) < _MOST_SERIES:
            series[key] = Series(label, keeps_peaks=keeps_peaks)
        if key in series:
            series[key].add(time_s, value)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was selected."""
        return not (self._positions or self._lags or self._losses or self._counters)

    def draw(self, path: Path) -> None:
        """Write the plot; raise OSError if the file cannot be written."""
        panels = [(title, lines, unit) for title, lines, unit in self._panels() if lines]
        with drawn(path, self._title, [title for title, _, _ in panels]) as all_axes:
            for axes in all_axes[1:]:
                axes.sharex(all_axes[0])
            for axes, (_, lines, unit) in zip(all_axes, panels, strict=True):
                _draw_lines(axes, lines, unit)
            all_axes[-1].set_xlabel("seconds")

    def _panels(self) -> Iterator[tuple[str, list[Series], str]]:
        yield "bytes per second", [each.rates() for each in self._positions.values()], "B/s"
        yield "bytes behind", list(self._lags.values()), "B"
        yield "bytes lost", list(self._losses.values()), "B"
        yield "counters", list(self._counters.values()), ""
        yield "change of counters per second", [each.rates() for each in self._counters.values()], ""


def _positions_of(log: SentStream | ReceivedStream) -> Iterator[tuple[str, int]]:
    yield from _known(
        ("published" if isinstance(log, SentStream) else "received", log.position),
        ("sent", log.sender_position if isinstance(log, SentStream) else None),
        *((f"read by {each.registration_id}", each.position) for each in log.subscribers),
    )


def _lags_of(log: SentStream | ReceivedStream) -> Iterator[tuple[str, int]]:
    if isinstance(log, SentStream):
        yield from _known(("not sent", log.unsent))
    else:
        yield from _known(("behind a gap", lag(log.high_water_mark, log.position)))
    for each in log.subscribers:
        yield from _known((f"not read by {each.registration_id}", lag(log.position, each.position)))


def _known(*pairs: tuple[str, int | None]) -> Iterator[tuple[str, int]]:
    return ((name, value) for name, value in pairs if value is not None)


def _draw_lines(axes: Any, lines: Iterable[Series], unit: str) -> None:
    """Draw the lines that reach highest, at most as many as have distinct colours."""
    highest = sorted(lines, key=lambda each: each.peak, reverse=True)
    for line in highest[:_MOST_LINES]:
        # A single point has no line.
        axes.plot(
            line.times, line.values, label=label_text(line.label), marker="." if len(line.times) < 2 else ""
        )
    if len(highest) > _MOST_LINES:
        axes.plot([], [], " ", label=f"and {len(highest) - _MOST_LINES} lower ones")
    show_units(axes.yaxis, unit)
    if all(value == 0 for line in highest for value in line.values):
        # Else a scale of a few hundredths, as thousandths of a byte.
        axes.set_ylim(0, 10)
    elif unit:
        axes.set_ylim(bottom=0)
