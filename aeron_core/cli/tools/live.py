"""Pages that are shown again and again on a terminal, and once anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.console import Console, RenderableType
from rich.live import Live

from aeron_core.cli.interrupt import Interrupt

Once = Annotated[bool, typer.Option("--once", help="Show them once instead of again and again.")]
Interval = Annotated[float, typer.Option(help="Seconds between two looks.")]

#: Columns where no terminal says how many there are: wide enough not to cut what a program will read.
_WIDTH: Final = 240


def show(page: Callable[[], RenderableType], interval: float, *, once: bool) -> None:
    """Show what `page` returns every `interval` seconds until a signal; once where no person watches."""
    if once or not sys.stdout.isatty():
        Console(width=None if sys.stdout.isatty() else _WIDTH).print(page(), soft_wrap=True)
        return
    with Interrupt() as interrupt, Live(screen=True, auto_refresh=False) as live:
        while not interrupt:
            live.update(page(), refresh=True)
            interrupt.wait(interval)
