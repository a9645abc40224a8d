"""`aeron-core loss`: shows the loss report of a driver."""

from __future__ import annotations

import csv
import time
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, positive, print_json
from aeron_core.cli.outcome import printable
from aeron_core.cli.quantities import wait_s
from aeron_core.concurrent.error_report import date_of
from aeron_core.concurrent.loss_report import LossEntry, read_loss_report
from aeron_core.errors import ConfigurationError
from aeron_core.observation.driver_files import open_loss_report

if TYPE_CHECKING:
    from aeron_core.cli.plots.loss_plot import LossHistory

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
# The first line of the C tool, so that programs that parse its output parse ours; likewise the last line, which has the
# plural also for one entry. Source: loss_stat.c.
_HEADER: Final = (
    "OBSERVATION_COUNT, TOTAL_BYTES_LOST, FIRST_OBSERVATION,"
    "LAST_OBSERVATION, SESSION_ID, STREAM_ID, CHANNEL, SOURCE"
)


def loss(  # noqa: PLR0913 - the options of the command
    aeron_dir: AeronDir = None,
    json: Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the losses into this .png or .svg file: with --history or --duration over time, else the "
            "first and the last one of each stream. Needs the extra plots.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Show the losses that `aeron-core stat --history` has recorded into this file. Needs the extra arrow.",
        ),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=wait_s,
            help="With --plot: draw what is lost during this time from now on.",
        ),
    ] = None,
    interval: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=wait_s, help="Time between two readings of --duration."),
    ] = 1.0,
) -> None:
    """Show the loss report of a driver, alive or dead, as CSV."""
    _check(aeron_dir, plot, history, duration, interval)
    losses = None
    if history is not None:
        title, entries, losses = _recorded(history)
    else:
        title = f"losses of {directory_of(aeron_dir)}"
        if duration is not None:
            losses = _watched(directory_of(aeron_dir), duration, interval)
        entries = list(read_loss_report(open_loss_report(directory_of(aeron_dir))))
    if json:
        print_json([asdict(entry) for entry in entries])
    else:
        print(_table(entries))
    # Last: a file that cannot be written must not lose the report.
    if plot is not None:
        from aeron_core.cli.plots.loss_plot import draw_losses  # noqa: PLC0415 - lazy: only --plot needs it

        if losses is None:
            draw_losses(plot, title, entries)
        else:
            losses.draw(plot, title)


def _check(
    aeron_dir: Path | None, plot: Path | None, history: Path | None, duration: float | None, interval: float
) -> None:
    """Raise ConfigurationError for options that contradict each other, or a plot that cannot be drawn."""
    positive("--interval", interval)
    positive("--duration", duration)
    if plot is not None:
        from aeron_core.cli.plots.figure import check_plot  # noqa: PLC0415 - lazy: only --plot needs it

        check_plot("--plot", plot)
    if duration is not None and plot is None:
        raise ConfigurationError(f"--duration={duration:g}: only with --plot; name a file to draw into")
    if history is not None and (aeron_dir is not None or duration is not None):
        other = f"--aeron-dir={aeron_dir}" if aeron_dir is not None else f"--duration={duration:g}"
        raise ConfigurationError(f"--history and {other}: only one of them is allowed")


def _recorded(path: Path) -> tuple[str, list[LossEntry], LossHistory]:
    """Return a title, the last loss report of a history, and all of them."""
    from aeron_core.cli.plots.loss_plot import LossHistory  # noqa: PLC0415 - lazy: only these options need it
    from aeron_core.cli.progress import share_bar  # noqa: PLC0415 - lazy, as above
    from aeron_core.observation.history import CounterHistory  # noqa: PLC0415 - imports pyarrow, which is optional

    losses, entries, title = LossHistory(), list[LossEntry](), str(path)
    history = CounterHistory(path)
    begin_ns: int | None = None
    with share_bar("read") as show:
        for snapshot in history.snapshots():
            if begin_ns is None:
                begin_ns = snapshot.monotonic_ns
                begin = date_of(snapshot.time_ns // _NS_PER_MS)
                title = f"losses of {snapshot.driver.aeron_dir} from {begin}"
            entries = list(snapshot.losses)
            losses.add((snapshot.monotonic_ns - begin_ns) / _NS_PER_S, entries)
            show(history.share_read)
    return title, entries, losses


def _watched(aeron_dir: Path, duration: float, interval: float) -> LossHistory:
    """Return the loss reports of a driver from now on, for `duration` seconds or until a signal."""
    from aeron_core.cli.interrupt import Interrupt  # noqa: PLC0415 - lazy: only these options need it
    from aeron_core.cli.plots.loss_plot import LossHistory  # noqa: PLC0415 - lazy, as above
    from aeron_core.cli.progress import share_bar  # noqa: PLC0415 - lazy, as above

    losses, begin_s = LossHistory(), time.monotonic()
    with Interrupt() as interrupt, share_bar("watched", duration) as show:
        while True:
            elapsed_s = time.monotonic() - begin_s
            losses.add(elapsed_s, read_loss_report(open_loss_report(aeron_dir)))
            show(elapsed_s)
            if elapsed_s >= duration or interrupt:
                return losses
            interrupt.wait(min(interval, duration - elapsed_s))


def _table(entries: Sequence[LossEntry]) -> str:
    """Return the report in the layout of the C tool."""
    lines = StringIO()  # not stdout, which may be closed
    table = csv.writer(lines, lineterminator="\n")
    for entry in entries:
        table.writerow(
            (
                entry.observation_count,
                entry.total_bytes_lost,
                date_of(entry.first_observation_ms),
                date_of(entry.last_observation_ms),
                entry.session_id,
                entry.stream_id,
                printable(entry.channel, kept=""),
                printable(entry.source, kept=""),
            )
        )
    return f"{_HEADER}\n{lines.getvalue()}{len(entries)} entries read"
