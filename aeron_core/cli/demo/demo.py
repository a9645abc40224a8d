"""`aeron-core demo`: sends a log through a driver that drops datagrams, and compares both ends."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.demo.demo_run import DemoResult, DemoRun
from aeron_core.cli.options import Json, positive, print_json
from aeron_core.cli.outcome import EXIT_FAILURE, ended, print_stderr
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.rate import RateDisplay
from aeron_core.cli.text_table import print_table
from aeron_core.errors import ConfigurationError

_SYSTEM_LOG: Final = Path("/var/log/dpkg.log")
_SHIPPED_LOG: Final = "data/dpkg.log"
_PERCENT: Final = 100


def demo(  # noqa: PLR0913 - the options of the command
    input: Annotated[  # noqa: A002 - the name of the option
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            readable=True,
            help="Log to send; default: the system's dpkg.log, or an excerpt of one.",
        ),
    ] = None,
    min_lines: Annotated[
        int,
        typer.Option(
            metavar="COUNT",
            min=1,
            max=1_000_000_000,
            help="Repeat the log until at least this many lines are sent.",
        ),
    ] = 500_000,
    loss: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Share of datagrams to drop in each direction, from 0 to below 1."
        ),
    ] = 0.02,
    seed: Annotated[
        int, typer.Option(metavar="SEED", min=0, max=2**63 - 2, help="Seed of the random loss.")
    ] = 42,
    port: Annotated[
        int,
        typer.Option(metavar="PORT", min=0, max=65535, help="UDP port on 127.0.0.1; 0 for any free port."),
    ] = 0,
    timeout: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=wait_s, help="Fail after this time without a received line."),
    ] = 15.0,
    json: Json = False,
) -> None:
    """Send a real log over a lossy channel and compare both ends.

    The channel is UDP on the loopback interface. A short log is sent repeatedly, as the table shows; `--min-lines 1`
    sends any log once. Fails unless every line arrives once and in order.
    """
    positive("--timeout", timeout)
    if not 0 <= loss < 1:
        raise ConfigurationError(f"--loss={loss}: must be at least 0 and less than 1")
    name, content = read_log(input)
    run = DemoRun(content, min_lines=min_lines, loss=loss, seed=seed, port=port, timeout=timeout)
    with RateDisplay("received", run.lines) as display:
        result = run.run(display)
    if json:
        print_json({"log": name, "loss": loss, "seed": seed, **result.document()})
    else:
        title = f"{name}, {loss * _PERCENT:g} % loss in both directions\n{result.channel}"
        print_table(("", "sent", "received"), _rows(result), right=("sent", "received"), title=title)
    if result.fault:
        print_stderr(f"error: {result.fault}")
        raise ended(EXIT_FAILURE)


def read_log(path: Path | None) -> tuple[str, bytes]:
    """Return name and content of a log, by default the system's or an excerpt; the content ends with a line end.

    Raises ConfigurationError if the file is empty, OSError if it cannot be read.
    """
    if path is None:
        try:
            name, content = str(_SYSTEM_LOG), _SYSTEM_LOG.read_bytes()
        except OSError:
            name, content = "", b""
        if not content:
            shipped = importlib.resources.files("aeron_core.cli.demo").joinpath(_SHIPPED_LOG)
            name, content = "an excerpt of a Debian dpkg.log", shipped.read_bytes()
    else:
        name, content = str(path), path.read_bytes()
    if not content:
        raise ConfigurationError(f"--input={name}: must be a file with at least one line, not an empty one")
    return name, content if content.endswith(b"\n") else content + b"\n"


def _rows(result: DemoResult) -> Iterator[tuple[str, str, str]]:
    yield "lines of the log", f"{result.log_lines:,}", ""
    yield "times it is sent", f"{result.repetitions:,}", ""
    for label, sent, received in (
        ("lines", result.lines_sent, result.lines_received),
        ("bytes", result.bytes_sent, result.bytes_received),
        ("NAKs", result.naks_sent, result.naks_received),
        ("status messages", result.status_messages_sent, result.status_messages_received),
    ):
        yield label, f"{sent:,}", f"{received:,}"
    yield "retransmits", f"{result.retransmits:,}", ""
    yield "bytes retransmitted", f"{result.retransmitted_bytes:,}", ""
    yield "loss report, entries", "", f"{result.loss_entries:,}"
    yield "loss report, bytes", "", f"{result.loss_bytes:,}"
    yield "", "", ""
    yield "seconds", "", f"{result.seconds:.2f}"
    yield "lines/s", "", f"{result.lines_per_s:,.0f}"
    yield "MB/s", "", f"{result.megabytes_per_s:,.1f}"
    for label, value in result.latencies.rows():
        yield f"latency, {label}", "", f"{value} µs"
    yield "", "", ""
    yield "SHA-256", result.sent_sha256, result.received_sha256
    yield "every line, in order", "", "no" if result.fault else "yes"
