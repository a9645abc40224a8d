"""`aeron-core bench`: measures throughput and latency of this machine, or to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.bench.bench_run import (
    ROUNDS,
    Measurement,
    address_towards,
    channel_of,
    local_measurements,
    remote_measurements,
    results_of,
    steps,
)
from aeron_core.cli.bench.ends import stack_closed_by_signals
from aeron_core.cli.bench.results import Result, round_trip_rows, throughput_rows
from aeron_core.cli.messages.latency import PERCENTILES
from aeron_core.cli.messages.ping_pong import PING_CHANNEL, PONG_CHANNEL
from aeron_core.cli.options import Json, is_terminal, positive, print_json
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.text_table import counted, print_table
from aeron_core.errors import ConfigurationError, NotConnectedError
from aeron_core.uri.addresses import HostPort, parse_address
from aeron_core.uri.channel_uri import ChannelUri

Endpoint = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Measure to the `aeron-core pong` at this address instead. Its --ping-channel is "
        "aeron:udp?endpoint=0.0.0.0:PORT with the same port, its --pong-channel has an address of this machine and "
        "port 20124.",
    ),
]


def bench(
    seconds: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=wait_s, help="Duration of all measurements together."),
    ] = 60.0,
    endpoint: Endpoint = None,
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address of this machine that pong sends to; default: that of the route to pong, port 20124.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", dir_okay=False, help="Also draw the results into this .png or .svg file."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure throughput and latency of this machine, or to another host.

    Streams run between two processes: over IPC with one driver, over UDP on loopback with a driver in each. Each
    result is a median of several rounds, beside a limit that was measured in the same rounds without Aeron: for another
    host that of raw UDP on the loopback of this one. Drivers take their settings from AERON_... environment variables.
    """
    positive("--seconds", seconds)
    if plot is not None:
        from aeron_core.cli.plots.figure import check_plot  # noqa: PLC0415 - lazy: only --plot needs it

        check_plot("--plot", plot)
    if answers is not None and endpoint is None:
        raise ConfigurationError(f"--answers={answers}: must be given with --endpoint, or not at all")
    with stack_closed_by_signals() as stack:
        if endpoint is None:
            measurements = local_measurements(stack)
        else:
            measurements = _remote(stack, _address("--endpoint", endpoint), answers)
        with _progress(len(measurements) * (ROUNDS + 1)) as advance:
            for measurement in steps(seconds, measurements):
                advance(measurement.result.name)
    results = results_of(measurements)
    if json:
        print_json(
            {"seconds": seconds, "rounds": ROUNDS, "results": [result.document() for result in results]}
        )
    else:
        _print(results)
    if plot is not None:
        from aeron_core.cli.bench.plot import draw  # noqa: PLC0415 - imports matplotlib

        draw(results, plot)


def _remote(stack: ExitStack, endpoint: HostPort, answers: str | None) -> list[Measurement]:
    port = parse_address(ChannelUri.parse(PONG_CHANNEL).get("endpoint", "")).port
    own = _address("--answers", answers) if answers else address_towards(endpoint, port)
    try:
        return remote_measurements(stack, endpoint, own)
    except NotConnectedError:
        listening = ChannelUri.parse(PING_CHANNEL).get("endpoint", "").partition(":")[2]
        raise NotConnectedError(
            f"pong at {endpoint.host}:{endpoint.port} is not connected: run there `aeron-core pong --ping-channel "
            f"'{channel_of(HostPort('0.0.0.0', endpoint.port or int(listening)))}' --pong-channel "
            f"'{channel_of(own)}'`, "
            "and allow UDP of both ports"
        ) from None


def _address(option: str, text: str) -> HostPort:
    try:
        return parse_address(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={text}: {error}") from None


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], object]]:
    """Yield a function that adds a step and shows what has been measured, on stderr if it is a terminal."""
    if not is_terminal():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - rich is slow to import: only on a terminal
    from rich.progress import (  # noqa: PLC0415 - rich is slow to import: only on a terminal
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda name: bar.update(task, advance=1, description=name)


def _print(results: list[Result]) -> None:
    title = f"medians of {counted(ROUNDS, 'round')}"
    rates = ("throughput", "messages/s", "MB/s", "limit", "share of limit")
    print_table(rates, throughput_rows(results), right=(*rates[1:3], rates[4]), title=title)
    print()
    percentiles = tuple(f"{percentile:g} %" for percentile in PERCENTILES)
    trips = ("round trip, µs", *percentiles, "limit", "limit / 50 %")
    print_table(trips, round_trip_rows(results), right=(*percentiles, trips[-1]))
