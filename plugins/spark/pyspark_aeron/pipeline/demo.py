"""`aeron-core pipeline demo`: sends a log through UDP, a recording and Spark, and compares the table with it."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from aeron_core.cli.demo.demo import read_log
from aeron_core.cli.options import Json, positive, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.progress import share_bar
from aeron_core.cli.rate import RateDisplay
from aeron_core.cli.text_table import print_table
from aeron_core.errors import ConfigurationError
from pyspark_aeron.session import check_spark

if TYPE_CHECKING:
    from pyspark_aeron.pipeline.demo_run import DemoOutcome


class DemoBars:
    """Bars on stderr, if it is a terminal: of the lines that are sent, then of the rows that Spark has read."""

    def __init__(self, total: int) -> None:
        """`total` counts lines, each of which becomes a row."""
        self._total = total
        self._stack = ExitStack()
        self._sent = RateDisplay("sent", total)
        self._show_read: Callable[[float], object] | None = None

    def add_sent(self, messages: int, length: int) -> None:
        """Count messages with `length` bytes in total."""
        self._sent.add(messages, length)

    def show_read(self, rows: int) -> None:
        """Show the rows so far; call only after the last message is sent, from one thread."""
        if self._show_read is None:
            # One bar at a time is drawn.
            self._stack.close()
            self._show_read = self._stack.enter_context(share_bar("read by Spark", self._total))
        self._show_read(rows)

    def __enter__(self) -> Self:
        self._stack.enter_context(self._sent)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def demo(
    input: Annotated[  # noqa: A002 - the name of the option
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Log of dpkg to send; default: that of this machine, or an excerpt.",
        ),
    ] = None,
    min_lines: Annotated[
        int,
        typer.Option(
            metavar="COUNT", max=10_000_000, help="Repeat the log until at least this many lines are sent."
        ),
    ] = 200_000,
    loss: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of datagrams to lose, in each direction.")
    ] = 0.02,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Directory for recordings, table and picture; default: a new one."),
    ] = None,
    json: Json = False,
) -> None:
    """Send a log with loss, record it, and stream it into Parquet.

    The log goes over UDP with simulated loss, and the table is compared with it. Shows the events of packages by
    minute and action, as a table and as a picture.
    """
    positive("--min-lines", min_lines)
    if not 0 <= loss < 1:
        raise ConfigurationError(f"--loss={loss}: must be at least 0 and less than 1")
    name, content = read_log(input)
    check_spark()
    from pyspark_aeron.pipeline.demo_run import DemoParams, run_demo  # noqa: PLC0415 - needs Spark

    lines = content.split(b"\n")[:-1]
    lines *= -(-min_lines // len(lines))
    folder = to or Path(tempfile.mkdtemp(prefix="aeron-demo-"))
    with DemoBars(len(lines)) as bars:
        outcome = run_demo(DemoParams(lines, folder, loss, on_sent=bars.add_sent, on_read=bars.show_read))
    picture = _draw(outcome, folder / "events.png")
    if json:
        print_json({"log": name, "lines": len(lines), **_document(outcome), "folder": str(folder)})
    else:
        title = f"{name}, {loss:.0%} loss, UDP, recording, Spark, Parquet"
        header = ("", "sent", "in the table")
        print_table(header, _rows(len(lines), outcome), right=header[1:], title=title)
        print_stderr(f"table {folder / 'events'}, picture {picture or 'none: it needs matplotlib'}")
    if not outcome.is_equal:
        print_stderr(
            f"error: the table differs from what was sent: compare it with the recordings in {folder}, and report it"
        )
        raise ended(EXIT_FAILURE)


def _rows(lines: int, outcome: DemoOutcome) -> Iterator[tuple[str, str, str]]:
    yield "lines", f"{lines:,}", f"{outcome.rows:,}"
    yield "of them distinct", "", f"{outcome.distinct_rows:,}"
    yield "", "", ""
    for action in sorted(outcome.expected | outcome.actions):
        yield action, f"{outcome.expected[action]:,}", f"{outcome.actions[action]:,}"
    yield "", "", ""
    yield "micro-batches", "", f"{outcome.batches:,}"
    yield "seconds to send", f"{outcome.send_seconds:.2f}", ""
    yield "seconds in all, with the start of Spark", "", f"{outcome.seconds:.2f}"
    yield "every line once", "", "yes" if outcome.is_equal else "no"


def _document(outcome: DemoOutcome) -> dict[str, object]:
    return {
        "rows": outcome.rows,
        "distinct_rows": outcome.distinct_rows,
        "actions": dict(outcome.actions),
        "expected": dict(outcome.expected),
        "batches": outcome.batches,
        "send_seconds": round(outcome.send_seconds, 3),
        "seconds": round(outcome.seconds, 3),
        "is_equal": outcome.is_equal,
    }


def _draw(outcome: DemoOutcome, path: Path) -> Path | None:
    """Draw the events of each minute by action into the file `path` and return it; None without matplotlib."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError:
        return None
    minutes = sorted({str(minute) for minute, _, _ in outcome.per_minute})
    by_action: dict[str, dict[str, int]] = defaultdict(dict)
    for minute, action, events in outcome.per_minute:
        by_action[action][str(minute)] = events
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    axes = figure.subplots()
    floor = [0] * len(minutes)
    for action, counts in sorted(by_action.items()):
        heights = [counts.get(minute, 0) for minute in minutes]
        axes.bar(range(len(minutes)), heights, bottom=floor, label=action, width=0.9)
        floor = [low + height for low, height in zip(floor, heights, strict=True)]
    step = max(len(minutes) // 12, 1)
    axes.set_xticks(
        range(0, len(minutes), step), [minutes[i][5:16] for i in range(0, len(minutes), step)], rotation=30
    )
    axes.set_ylabel("events a minute")
    axes.set_title("What happened to packages")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
    return path
