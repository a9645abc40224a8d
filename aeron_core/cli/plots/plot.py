"""`aeron-core plot`: draws a history of counters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.plots.figure import check_plot
from aeron_core.cli.plots.history_plot import HistoryPlot
from aeron_core.cli.progress import share_bar
from aeron_core.cli.tools.counter_selection import Types, compiled, names_of_type
from aeron_core.cli.tools.streams import SessionOption, StreamOption
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import ConfigurationError, ProtocolError
from aeron_core.observation.history import CounterHistory


def plot(  # noqa: PLR0913 - the options of the command
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="History that `aeron-core stat --history` has recorded.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Plot to write: .png or .svg; default: the history's name with .png."
        ),
    ] = None,
    counter: Annotated[
        str, typer.Option(metavar="REGEX", help="Draw the counters with a matching label instead of streams.")
    ] = "",
    type_: Types = None,
    session: SessionOption = None,
    stream: StreamOption = None,
) -> None:
    """Draw a history of counters: rates, lags and losses of streams, or chosen counters.

    Needs the extras arrow and plots. Of many lines, the twelve that reach highest are drawn.
    """
    target = output or file.with_suffix(".png")
    check_plot("--output", target)
    has_selection = bool(counter or type_)
    if has_selection and (session is not None or stream is not None):
        raise ConfigurationError(
            "--counter and --type draw counters, --session and --stream streams: use only one of both"
        )
    label, types = compiled("--counter", counter), set(type_ or ())

    def selects(record: CounterRecord) -> bool:
        return bool(label.search(record.label)) and (not types or not types.isdisjoint(names_of_type(record)))

    figure = HistoryPlot(stream, session, selects if has_selection else None)
    history = CounterHistory(file)
    with share_bar("read") as show:
        for snapshot in history.snapshots():
            figure.add(snapshot)
            show(history.share_read)
    if not figure.snapshots:
        raise ProtocolError(
            f"{file}: has no snapshot: wait until its recorder has written one, or record the counters anew"
        )
    if figure.is_empty:
        is_chosen = has_selection or session is not None or stream is not None
        what = "what was selected" if is_chosen else "a stream"
        remedy = (
            "choose another --counter, --type, --session or --stream" if is_chosen else "draw --counter REGEX"
        )
        raise ConfigurationError(f"{file}: none of its {figure.snapshots} snapshots has {what}: {remedy}")
    if history.is_cut:
        print_stderr(f"warning: {file} ends within a snapshot: its recorder still runs or was killed")
    figure.draw(target)
