"""`aeron-core dashboard`: checks its options, and serves the page until a signal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import positive
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.tools.live import Interval
from aeron_core.errors import ConfigurationError

#: Seconds between two checks of the server's thread.
_CHECK_S: Final = 1.0


def dashboard(  # noqa: PLR0913 - its options
    aeron_dir: Annotated[
        list[Path] | None,
        typer.Option(
            "--aeron-dir",
            "-d",
            metavar="DIR",
            help="Show only the driver in this directory; may be repeated; default: all drivers of this machine.",
        ),
    ] = None,
    listen: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="Address to serve the page at; port 0: any. Other addresses than loopback need --token-file.",
        ),
    ] = "127.0.0.1:8900",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the token that a browser must send, which no other user may be able to read.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Serve with TLS: PEM file with the certificate and its chain."),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="PEM file with the key of --tls-cert; default: in the same file."),
    ] = None,
    interval: Interval = 1.0,
) -> None:
    """Show drivers and streams in a browser: plots, what holds each stream back, errors.

    Needs the extra dashboard.
    """
    from aeron_core.cli.dashboard.access import (  # noqa: PLC0415 - lazy: with ssl
        LOOPBACK_NAMES,
        check_access,
        is_loopback,
        listen_address,
        tls_context,
    )

    positive("--interval", interval)
    address = listen_address(listen)
    token = check_access(address, token_file)
    tls = tls_context(tls_cert, tls_key)
    try:
        from aeron_core.cli.dashboard.server import DashboardServer  # noqa: PLC0415 - optional, slow to import
    except ImportError as error:
        if (error.name or "").startswith("aeron_core"):
            raise
        raise ConfigurationError(
            f"dashboard needs NiceGUI ({error}): pip install 'aeron-core[dashboard]'"
        ) from None
    from aeron_core.cli.dashboard.feed import LiveFeed  # noqa: PLC0415 - lazy: after the checks
    from aeron_core.cli.dashboard.gate import GateRules  # noqa: PLC0415 - lazy: after the checks
    from aeron_core.cli.top.sources import LiveSource  # noqa: PLC0415 - lazy: after the checks

    hosts = LOOPBACK_NAMES if is_loopback(address) else frozenset()
    rules = GateRules(hosts, token, is_tls=tls is not None)
    feed = LiveFeed(LiveSource(aeron_dir or ()), interval)
    with Interrupt() as interrupt, DashboardServer(address, feed, rules, tls) as server:
        print_stderr(f"dashboard at {server.url}")
        while not interrupt.wait(_CHECK_S):
            if not server.is_running:
                raise failed("the server of the page has stopped: start it again, and report this as a bug")
