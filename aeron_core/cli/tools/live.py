"""Pages that are updated continuously on a terminal, and printed once elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.outcome import is_tty
from aeron_core.cli.quantities import wait_s

Once = Annotated[bool, typer.Option("--once", help="Show one page and exit, also on a terminal.")]
Interval = Annotated[float, typer.Option(metavar="DURATION", parser=wait_s, help="Time between two updates.")]


def show(page: Callable[[], str], interval: float, *, once: bool) -> None:
    """Show the result of `page` every `interval` seconds until a signal; call on the main thread.

    Shows it only once if `once` is set or stdout is not a terminal.
    """
    if once or not is_tty(sys.stdout):
        print(page(), flush=True)
        return
    from rich.live import Live  # noqa: PLC0415 - rich is slow to import: only for a page that is updated
    from rich.text import Text  # noqa: PLC0415 - rich is slow to import: only for a page that is updated

    with Interrupt() as interrupt, Live(screen=True, auto_refresh=False) as live:
        while not interrupt:
            live.update(Text.from_ansi(page(), no_wrap=True, overflow="ellipsis"), refresh=True)
            interrupt.wait(interval)
