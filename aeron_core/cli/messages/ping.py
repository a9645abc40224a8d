"""`aeron-core ping`: measures round trips to `aeron-core pong` or to the Pong of Aeron."""

from __future__ import annotations

import math
import os
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from aeron_core.cli.connecting import await_other_side, checked_channels, connect_to_driver, disconnected
from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.messages.ping_pong import (
    PING_CHANNEL,
    PING_STREAM,
    PONG_CHANNEL,
    PONG_STREAM,
    PingChannel,
    PingStream,
    PongChannel,
    PongStream,
)
from aeron_core.cli.options import AeronDir, Json, is_terminal, positive, print_json
from aeron_core.cli.quantities import size_in_bytes, wait_s
from aeron_core.cli.text_table import counted, print_table
from aeron_core.client.publications.offerer import Offerer
from aeron_core.client.subscriptions.header import Header
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import ClosedError, ConfigurationError, NotConnectedError

if TYPE_CHECKING:
    from rich.progress import Progress

_TIMESTAMP_LENGTH = 8
# Invented: a bar that appears and disappears at once is of no use.
_BAR_DELAY_S = 2.0
_BAR_INTERVAL_S = 0.1

Timeout = Annotated[
    float | None,
    typer.Option(metavar="DURATION", parser=wait_s, help="Fail if pong does not answer within this time."),
]


class _Pinger:
    """Sends a timestamp and waits until it returns."""

    def __init__(
        self, offerer: Offerer, subscription: Subscription, size: int, timeout: float | None
    ) -> None:
        self._offerer = offerer
        self._subscription = subscription
        self._message = bytearray(size)
        self._timeout = timeout
        self._received_ns = 0

    def round_trip_ns(self) -> int:
        """Return the time of one round trip in ns.

        Raises NotConnectedError if the timeout expires first, ClosedError if the client loses its driver, and the
        errors of `Offerer.offer`.
        """
        sent_ns = time.monotonic_ns()
        self._message[:_TIMESTAMP_LENGTH] = sent_ns.to_bytes(_TIMESTAMP_LENGTH, "little")
        self._received_ns = 0
        try:
            self._offerer.offer(self._message)
        except ClosedError:
            raise self._disconnected() from None
        while not self._received_ns:
            if not self._subscription.poll(self._on_fragment, 10):
                self._check(sent_ns)
        return self._received_ns - sent_ns

    def _on_fragment(self, buffer: memoryview, _header: Header) -> None:
        # Ignore answers to other programs and to earlier pings: several programs may share a pong.
        if buffer == self._message:
            self._received_ns = time.monotonic_ns()

    def _check(self, sent_ns: int) -> None:
        # With fewer processors than spinning threads, let the driver's thread run now.
        os.sched_yield()
        if self._subscription.is_closed:
            raise self._disconnected()
        if self._timeout is not None and time.monotonic_ns() - sent_ns > self._timeout * 1e9:
            raise NotConnectedError(
                f"a ping did not return within {self._timeout:g} s: check that `aeron-core pong` runs with the same "
                "channels and streams, or raise --timeout"
            )

    def _disconnected(self) -> ClosedError:
        return disconnected(self._offerer.messages, "run ping again")


class PingBar:
    """Bar on stderr, if it is a terminal, for a measurement that takes longer than two seconds.

    `advance` draws it, between two round trips: a thread that draws would delay them.
    """

    def __init__(self, total: int) -> None:
        """Draw nothing yet; `total` counts round trips."""
        self._total = total
        self._count = 0
        self._next_s = time.monotonic() + _BAR_DELAY_S if is_terminal() else math.inf
        self._progress: Progress | None = None

    def advance(self) -> None:
        """Count a round trip; draw at most every 0.1 s."""
        self._count += 1
        if time.monotonic() >= self._next_s:
            self._draw()

    def _draw(self) -> None:
        if self._progress is None:
            from rich.console import Console  # noqa: PLC0415 - lazy: only on a terminal
            from rich.progress import Progress  # noqa: PLC0415 - lazy: only on a terminal

            console = Console(stderr=True)
            self._progress = Progress(console=console, transient=True, auto_refresh=False)
            self._task = self._progress.add_task("measured", total=self._total)
            self._progress.start()
        self._progress.update(self._task, completed=self._count, refresh=True)
        self._next_s = time.monotonic() + _BAR_INTERVAL_S

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()


PlotFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the distribution of the round trips into this .png or .svg file. Needs the extra plots.",
    ),
]


def ping(  # noqa: PLR0913 - the options of the command
    messages: Annotated[
        int, typer.Option(metavar="COUNT", min=1, help="Number of round trips to measure.")
    ] = 100_000,
    warm_up: Annotated[
        int, typer.Option(metavar="COUNT", min=0, help="Number of round trips before the measurement.")
    ] = 10_000,
    size: Annotated[
        int,
        typer.Option(
            metavar="BYTES",
            parser=size_in_bytes,
            help="Length of a message: at least 8, at most one datagram.",
        ),
    ] = 32,
    timeout: Timeout = 10.0,
    ping_channel: PingChannel = PING_CHANNEL,
    ping_stream: PingStream = PING_STREAM,
    pong_channel: PongChannel = PONG_CHANNEL,
    pong_stream: PongStream = PONG_STREAM,
    aeron_dir: AeronDir = None,
    json: Json = False,
    plot: PlotFile = None,
) -> None:
    """Measure round trips to `aeron-core pong` or to the Pong of Aeron."""
    positive("--timeout", timeout)
    _check(size, plot)
    latencies = Latencies()
    with ExitStack() as stack:
        channels = {"publications": [ping_channel], "subscriptions": [pong_channel]}
        aeron = stack.enter_context(connect_to_driver("ping", aeron_dir, **channels))
        with checked_channels(**channels):
            subscription = stack.enter_context(aeron.add_subscription(pong_channel, pong_stream))
            publication = stack.enter_context(
                closing(aeron.add_exclusive_publication(ping_channel, ping_stream))
            )
        if size > publication.max_payload_length:
            raise ConfigurationError(
                f"--size={size}: must be from {_TIMESTAMP_LENGTH} to {publication.max_payload_length} (in bytes), the "
                "payload of one frame: lower it, or raise mtu= of --ping-channel"
            )
        await_other_side(publication, timeout)
        await_other_side(subscription, timeout)
        pinger = _Pinger(Offerer(publication, timeout), subscription, size, timeout)
        bar = stack.enter_context(PingBar(warm_up + messages))
        for _ in range(warm_up):
            pinger.round_trip_ns()
            bar.advance()
        for _ in range(messages):
            latencies.add(pinger.round_trip_ns())
            bar.advance()
    _show(latencies, size, plot, json=json)


def _check(size: int, plot: Path | None) -> None:
    """Raise ConfigurationError for a length or a plot that is impossible whatever the channels are."""
    if plot is not None:
        from aeron_core.cli.plots.figure import check_plot  # noqa: PLC0415 - lazy: only --plot needs it

        check_plot("--plot", plot)
    if size < _TIMESTAMP_LENGTH:
        raise ConfigurationError(
            f"--size={size}: must be at least {counted(_TIMESTAMP_LENGTH, 'byte')}, the length of a timestamp, "
            "and at most what one frame of mtu= can hold"
        )


def _show(latencies: Latencies, size: int, plot: Path | None, *, json: bool) -> None:
    title = f"round trips of {counted(latencies.count, 'message')} of {counted(size, 'byte')}"
    if json:
        print_json({"size": size, "round_trip": latencies.document()})
    else:
        print_table(("percentile", "µs"), latencies.rows(), right=("µs",), title=title)
    # Last: a file that cannot be written must not lose the results.
    if plot is not None:
        from aeron_core.cli.plots.latency_plot import draw_latencies  # noqa: PLC0415 - lazy: only --plot needs it

        draw_latencies(plot, title, latencies)
