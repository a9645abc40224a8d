"""Progress bars of commands that know their total: on stderr if it is a terminal, and removed at the end.

Not here: bars that show a rate (rate), those of a table that is redrawn, and that of `ping`, which no thread may draw.
Invariant: rich, which is slow to import, is imported on a terminal only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aeron_core.cli.options import is_terminal

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


@contextmanager
def byte_bar(what: str, total: int) -> Iterator[Callable[[int], object]]:
    """Yield a function that adds processed bytes to a bar of `total` bytes, with their rate."""
    if not is_terminal():
        yield lambda _: None
        return
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415 - see the module

    with _drawn(what, total, (DownloadColumn(), TransferSpeedColumn())) as add:
        yield add


@contextmanager
def share_bar(what: str, total: float = 1.0) -> Iterator[Callable[[float], object]]:
    """Yield a function that takes how much of `total` is done so far, in any unit."""
    if not is_terminal():
        yield lambda _: None
        return
    from rich.progress import TaskProgressColumn  # noqa: PLC0415 - see the module

    done = 0.0
    with _drawn(what, total, (TaskProgressColumn(),)) as add:

        def show(share: float) -> None:
            nonlocal done
            add(share - done)
            done = share

        yield show


@contextmanager
def _drawn(
    what: str, total: float, columns: tuple[ProgressColumn, ...]
) -> Iterator[Callable[[float], object]]:
    from rich.console import Console  # noqa: PLC0415 - see the module
    from rich.progress import (  # noqa: PLC0415 - see the module
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    shown = (TextColumn(what), BarColumn(), *columns, TimeRemainingColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda amount: bar.advance(task, amount)
