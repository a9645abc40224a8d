"""`aeron-core dashboard`: checks its options, and serves the page until a signal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import positive
from aeron_core.cli.outcome import failed, print_stderr
from aeron_core.cli.tools.live import Interval
from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    from aeron_core.cli.dashboard.feed import PageFeed
    from aeron_core.cli.dashboard.remote import RemoteSource

#: Seconds between two checks of the server's thread.
_CHECK_S: Final = 1.0


_History = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Show what `aeron-core stat --history` has recorded into this file. Needs the extra arrow.",
    ),
]
_AeronDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--aeron-dir",
        "-d",
        metavar="DIR",
        help="Show only the driver in this directory; may be repeated; default: all drivers of this machine.",
    ),
]
_From = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        metavar="URL",
        help="Also show the drivers of another dashboard, http://host:8900/, or the driver or the Spark queries of "
        "a metrics endpoint, http://host:9464/metrics; may be repeated.",
    ),
]
_FromTokenFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File with the token that is sent to the URLs of --from.")
]
_FromCa = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="PEM file with the authorities that --from trusts for https; default: those of the system.",
    ),
]
_Archives = Annotated[
    list[str] | None,
    typer.Option(metavar="ARCHIVE", help="Also show the recordings of this archive; may be repeated."),
]
_Listen = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        help="Address to serve the page at; port 0: any. Other addresses than loopback need --token-file.",
    ),
]
_TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File with the token that a browser must send; no other user may be able to read it.",
    ),
]
_TlsCert = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Serve with TLS: PEM file with the certificate and its chain."),
]
_TlsKey = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="PEM file with the key of --tls-cert; default: in the same file."),
]


def dashboard(  # noqa: PLR0913 - the options of the command
    history: _History = None,
    aeron_dir: _AeronDirs = None,
    remote: _From = None,
    from_token_file: _FromTokenFile = None,
    from_ca: _FromCa = None,
    archive: _Archives = None,
    listen: _Listen = "127.0.0.1:8900",
    token_file: _TokenFile = None,
    tls_cert: _TlsCert = None,
    tls_key: _TlsKey = None,
    interval: Interval = 1.0,
) -> None:
    """Show drivers and streams in a browser: plots, what holds each stream back, errors.

    Reads only. Needs the extra dashboard.
    """
    from aeron_core.cli.dashboard.access import access_of  # noqa: PLC0415 - lazy: with ssl

    positive("--interval", interval)
    others = (*(aeron_dir or ()), *(remote or ()), *(archive or ()))
    if history is not None and others:
        raise ConfigurationError(
            f"{history} and {others[0]}: only one of them is allowed; a history has one driver"
        )
    access = access_of(listen, token_file, tls_cert, tls_key)
    _check_nicegui()
    from aeron_core.cli.dashboard.server import DashboardServer  # noqa: PLC0415 - optional, slow to import

    feed: PageFeed
    if history is not None:
        from aeron_core.cli.dashboard.history_feed import HistoryFeed  # noqa: PLC0415 - lazy: only for a history

        feed = HistoryFeed(history, interval)
    else:
        from aeron_core.cli.dashboard.feed import LiveFeed  # noqa: PLC0415 - lazy: only for drivers that run
        from aeron_core.cli.top.sources import LiveSource  # noqa: PLC0415 - lazy: only for drivers that run

        remotes = _remotes(remote or (), from_token_file, from_ca)
        feed = LiveFeed(LiveSource(aeron_dir or ()), interval, remotes=remotes, archives=archive or ())
    if not access.hosts and access.tls is None:
        print_stderr("warning: without --tls-cert, the token and all values are readable on the network")
    with Interrupt() as interrupt, DashboardServer(access, feed) as server:
        print_stderr(f"dashboard at {server.url}")
        while not interrupt.wait(_CHECK_S):
            if not server.is_running:
                raise failed("the server of the page has stopped: start it again, and report this as a bug")


def _check_nicegui() -> None:
    try:
        import nicegui  # noqa: F401, PLC0415 - optional, slow to import
    except ImportError as error:
        raise ConfigurationError(
            f"dashboard needs NiceGUI ({error}): pip install 'aeron-core[dashboard]'"
        ) from None


def _remotes(urls: Sequence[str], token_file: Path | None, ca: Path | None) -> list[RemoteSource]:
    from aeron_core.cli.dashboard.access import client_context  # noqa: PLC0415 - lazy: with ssl
    from aeron_core.cli.dashboard.remote import RemoteSource  # noqa: PLC0415 - lazy: after the checks
    from aeron_core.metrics.access import read_token  # noqa: PLC0415 - lazy: only --from needs it

    if not urls and (token_file or ca):
        raise ConfigurationError("--from-token-file and --from-ca: must be given with --from")
    token = "" if token_file is None else read_token(token_file, "--from-token-file")
    # The scheme of a URL may have any case.
    tls = client_context(ca) if any(url.lower().startswith("https:") for url in urls) else None
    return [RemoteSource(url, token, tls) for url in dict.fromkeys(urls)]
