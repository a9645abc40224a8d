"""Plots of losses: of a loss report, and of several reports over time.

A report has the first and the last loss of each stream and source, and the total, and not what happened in between: its
plot shows the span of each. Several reports, of a history or read while a driver runs, show when the bytes were lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aeron_core.cli.plots.figure import drawn, label_text, show_units
from aeron_core.cli.plots.series import Series
from aeron_core.cli.text_table import counted
from aeron_core.concurrent.error_report import date_of
from aeron_core.concurrent.loss_report import LossEntry
from aeron_core.observation.limitation import size_text

_MS_PER_S: Final = 1000
# Invented: with more lines, their colours repeat. A history may have any number of streams.
_MOST_LINES: Final = 12
_MOST_SERIES: Final = 2000

_Key = tuple[object, ...]


def draw_losses(path: Path, title: str, entries: Sequence[LossEntry]) -> None:
    """Write a plot of one loss report, which may be empty; raise OSError if the file cannot be written."""
    begin_ms = min((entry.first_observation_ms for entry in entries), default=0)
    panel = f"first and last loss since {date_of(begin_ms)}" if entries else "no losses"
    worst = sorted(entries, key=lambda entry: entry.total_bytes_lost, reverse=True)
    with drawn(path, title, (panel,)) as (axes,):
        for number, entry in enumerate(worst[:_MOST_LINES]):
            times = [
                (time_ms - begin_ms) / _MS_PER_S
                for time_ms in (entry.first_observation_ms, entry.last_observation_ms)
            ]
            how_often = counted(entry.observation_count, "time")
            label = (
                f"stream {entry.stream_id} from {entry.source}: {how_often}, "
                f"{size_text(entry.total_bytes_lost)}"
            )
            axes.plot(times, [-number, -number], marker="|", linewidth=6, label=label_text(label))
        if len(worst) > _MOST_LINES:
            axes.plot([], [], " ", label=f"and {len(worst) - _MOST_LINES} with less")
        axes.set_xlabel("seconds")
        # The height has no meaning: a line is not an amount.
        axes.set_yticks([])
        axes.set_ylim(-max(len(worst[:_MOST_LINES]), 1), 1)


@dataclass
class LossHistory:
    """Collects loss reports of one driver, in their order, and draws what was lost when."""

    reports: int = 0
    _lines: dict[_Key, Series] = field(default_factory=dict)
    _last_s: float = 0.0

    def add(self, time_s: float, entries: Iterable[LossEntry]) -> None:
        """Add a report that was read at `time_s`, later than the one before."""
        for entry in entries:
            key = (entry.session_id, entry.stream_id, entry.channel, entry.source)
            line = self._lines.get(key)
            if line is None:
                if len(self._lines) >= _MOST_SERIES:
                    continue
                line = self._lines[key] = Series(f"stream {entry.stream_id} from {entry.source}")
                if self.reports:
                    # An entry is new with its first loss.
                    line.add(self._last_s, 0)
            line.add(time_s, entry.total_bytes_lost)
        self.reports += 1
        self._last_s = time_s

    def draw(self, path: Path, title: str) -> None:
        """Write the plot; raise OSError if the file cannot be written."""
        worst = sorted(self._lines.values(), key=lambda line: line.peak, reverse=True)
        panels = ("bytes lost per second", "bytes lost") if worst else ("no losses",)
        with drawn(path, title, panels) as all_axes:
            for axes, unit in zip(all_axes, ("B/s", "B"), strict=False):
                for line in worst[:_MOST_LINES]:
                    shown = line.rates() if unit == "B/s" else line
                    axes.plot(shown.times, shown.values, label=label_text(shown.label), drawstyle="steps-pre")
                show_units(axes.yaxis, unit)
                axes.set_ylim(bottom=0)
                axes.sharex(all_axes[0])
            if len(worst) > _MOST_LINES:
                all_axes[-1].plot([], [], " ", label=f"and {len(worst) - _MOST_LINES} with less")
            all_axes[-1].set_xlabel("seconds")
