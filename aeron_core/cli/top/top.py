"""`aeron-core top`: checks its options and the terminal, and starts the view."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.options import positive
from aeron_core.cli.outcome import is_tty
from aeron_core.cli.tools.live import Interval
from aeron_core.errors import ConfigurationError


def top(
    aeron_dir: Annotated[
        list[Path] | None,
        typer.Option(
            "--aeron-dir",
            "-d",
            metavar="DIR",
            help="Show only the driver in this directory; may be repeated; default: all drivers of this machine.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Show what `aeron-core stat --history` has recorded into this file so far. Needs the extra arrow.",
        ),
    ] = None,
    interval: Interval = 1.0,
) -> None:
    """Watch drivers and streams: positions, rates, and what holds each stream back.

    Needs a terminal and the extra top; `?` shows the keys.
    """
    positive("--interval", interval)
    if history is not None and aeron_dir:
        raise ConfigurationError(
            f"--history and --aeron-dir={aeron_dir[0]}: only one of them is allowed; a history has one driver"
        )
    _check_terminal()
    try:
        from aeron_core.cli.top.app import TopApp  # noqa: PLC0415 - optional, slow to import
    except ImportError as error:
        if not (error.name or "").startswith("textual"):
            raise
        raise ConfigurationError(
            "top needs textual, which is not installed: pip install 'aeron-core[top]'"
        ) from None
    from aeron_core.cli.top.playback import Playback  # noqa: PLC0415 - lazy: after the checks
    from aeron_core.cli.top.sources import LiveSource  # noqa: PLC0415 - lazy: after the checks

    source = LiveSource(aeron_dir or ()) if history is None else Playback(history, interval)
    TopApp(source, interval).run()


def _check_terminal() -> None:
    """Raise ConfigurationError unless the view can read keys from a terminal and draw on it."""
    is_terminal = all(map(is_tty, (sys.stdin, sys.stdout, sys.stderr)))
    if is_terminal and os.environ.get("TERM") not in ("dumb", "unknown"):
        return
    what = "TERM=dumb cannot draw" if is_terminal else "the input or an output is not a terminal"
    raise ConfigurationError(
        f"top needs a terminal, but {what}: use `aeron-core streams` or `aeron-core stat` instead"
    )
