"""`aeron-core loss`: shows the loss report of a driver."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, print_json
from aeron_core.cli.outcome import printable
from aeron_core.concurrent.error_report import date_of
from aeron_core.concurrent.loss_report import LossEntry, read_loss_report
from aeron_core.observation.driver_files import open_loss_report

# The first line of the C tool, so that programs that parse its output parse ours; likewise the last line, which has the
# plural also for one entry. Source: loss_stat.c.
_HEADER: Final = (
    "OBSERVATION_COUNT, TOTAL_BYTES_LOST, FIRST_OBSERVATION,"
    "LAST_OBSERVATION, SESSION_ID, STREAM_ID, CHANNEL, SOURCE"
)


def loss(
    aeron_dir: AeronDir = None,
    json: Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the losses over time into this .png or .svg file. Needs the extra plots.",
        ),
    ] = None,
) -> None:
    """Show the loss report of a driver, alive or dead, as CSV."""
    if plot is not None:
        from aeron_core.cli.plots.figure import check_plot  # noqa: PLC0415 - lazy: only --plot needs it

        check_plot("--plot", plot)
    entries = list(read_loss_report(open_loss_report(directory_of(aeron_dir))))
    if json:
        print_json([asdict(entry) for entry in entries])
    else:
        print(_table(entries))
    # Last: a file that cannot be written must not lose the report.
    if plot is not None:
        from aeron_core.cli.plots.loss_plot import draw_losses  # noqa: PLC0415 - lazy: only --plot needs it

        draw_losses(plot, f"losses of {directory_of(aeron_dir)}", entries)


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
