"""Plot of a loss report: when each stream lost data, and how much.

The report has the first and the last loss of each stream and source, and the total: the line between is straight,
whatever happened there. A history of counters shows the losses in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aeron_core.cli.plots.figure import drawn, label_text, show_units
from aeron_core.cli.text_table import counted
from aeron_core.concurrent.error_report import date_of
from aeron_core.concurrent.loss_report import LossEntry

_MS_PER_S: Final = 1000
# Invented: with more lines, their colours repeat.
_MOST_LINES: Final = 12


def draw_losses(path: Path, title: str, entries: Sequence[LossEntry]) -> None:
    """Write a plot of a loss report, which may be empty; raise OSError if the file cannot be written."""
    begin_ms = min((entry.first_observation_ms for entry in entries), default=0)
    panel = f"bytes lost since {date_of(begin_ms)}" if entries else "no losses"
    worst = sorted(entries, key=lambda entry: entry.total_bytes_lost, reverse=True)
    with drawn(path, title, (panel,)) as (axes,):
        for entry in worst[:_MOST_LINES]:
            times = [
                (time_ms - begin_ms) / _MS_PER_S
                for time_ms in (entry.first_observation_ms, entry.last_observation_ms)
            ]
            label = (
                f"stream {entry.stream_id} from {entry.source}: {counted(entry.observation_count, 'time')}"
            )
            axes.plot(times, [0, entry.total_bytes_lost], marker="o", label=label_text(label))
        if len(worst) > _MOST_LINES:
            axes.plot([], [], " ", label=f"and {len(worst) - _MOST_LINES} with less")
        axes.set_xlabel("seconds")
        show_units(axes.yaxis, "B")
        axes.set_ylim(bottom=0)
