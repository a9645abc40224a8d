"""One run of the benchmark: all measurements, in rounds, so that each is compared with limits of the same time.

Not here: options and output (bench).
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

from aeron_core.cli.bench.launch import launch_into
from aeron_core.cli.bench.limits import RawLimits, offload_name
from aeron_core.cli.bench.peer_process import PeerProcess
from aeron_core.cli.bench.results import Result, RoundTrips, Throughput
from aeron_core.cli.bench.streams import EchoStream, LocalStreams
from aeron_core.cli.connecting import connect_as
from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.messages.ping_pong import PING_STREAM, PONG_STREAM
from aeron_core.errors import ConfigurationError
from aeron_core.uri.addresses import HostPort
from aeron_core.uri.values import shown

SIZES = (32, 1024)
#: Rounds of all measurements. Invented: odd, for the median.
ROUNDS = 5
#: Duration of the warm-up of each measurement, as a share of a round.
_WARM_UP = 0.2


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A measurement of throughput."""

    result: Throughput
    measure: Callable[[float], float]

    def run(self, seconds: float, *, counts: bool) -> None:
        """Measure for a number of seconds; drop the result unless it counts."""
        rate = self.measure(seconds)
        if counts:
            self.result.rates.append(rate)


@dataclass(frozen=True, slots=True)
class MeasuredLatency:
    """A measurement of round trips."""

    result: RoundTrips
    measure: Callable[[float], Latencies]

    def run(self, seconds: float, *, counts: bool) -> None:
        """Measure for a number of seconds; drop the result unless it counts."""
        latencies = self.measure(seconds)
        if counts:
            self.result.rounds.append(latencies)


Measurement = MeasuredRate | MeasuredLatency


def steps(seconds: float, measurements: list[Measurement]) -> Iterator[Measurement]:
    """Run the measurements in about `seconds`, and yield each one after it has run, (ROUNDS + 1) times."""
    each_s = seconds / len(measurements) / (ROUNDS + _WARM_UP)
    for number in range(ROUNDS + 1):
        for measurement in measurements:
            measurement.run(each_s if number else each_s * _WARM_UP, counts=number > 0)
            yield measurement


def results_of(measurements: list[Measurement]) -> list[Result]:
    """Return the results in the order of the measurements."""
    return [measurement.result for measurement in measurements]


def local_measurements(stack: ExitStack) -> list[Measurement]:
    """Start the second process and the drivers, and return the measurements of this machine.

    IPC uses one driver, in this process, and UDP a driver in each process. Raises AeronError if a driver does not
    start or a stream is not connected.
    """
    peer = stack.enter_context(PeerProcess())
    driver = launch_into(stack)
    aeron = stack.enter_context(connect_as("bench", driver.aeron_dir))
    peer.ask("connect", client="ipc", aeron_dir=str(driver.aeron_dir))
    peer.ask("connect", client="udp")
    raw = RawLimits(peer, stack)
    copies = Throughput("memory copy", 1)
    datagrams = Throughput(f"raw UDP, {offload_name()}", 1)
    bytes_ = RoundTrips("shared memory")
    echoes = RoundTrips("raw UDP")
    measurements: list[Measurement] = [
        MeasuredRate(copies, raw.copy_memory),
        MeasuredRate(datagrams, raw.send_datagrams),
        MeasuredLatency(bytes_, raw.share_bytes),
        MeasuredLatency(echoes, raw.echo_datagrams),
    ]
    for name, limit, least in (("ipc", copies, bytes_), ("udp", datagrams, echoes)):
        streams = LocalStreams(name, aeron, peer, stack)
        measurements += [
            MeasuredRate(
                Throughput(f"{name.upper()}, {size} B", size, limit),
                partial(streams.messages_per_s, size=size),
            )
            for size in SIZES
        ]
        measurements.append(MeasuredLatency(RoundTrips(name.upper(), least), streams.round_trips))
    return measurements


def remote_measurements(stack: ExitStack, endpoint: HostPort, answers: HostPort) -> list[Measurement]:
    """Start a driver, connect to the `aeron-core pong` at `endpoint`, and return the measurements to it.

    `answers`: the address of this machine that pong sends to. The limits are those of datagrams on loopback: what the
    network adds is beyond them, and no end of it runs here. Raises AeronError if the driver does not start,
    NotConnectedError if pong is not connected.
    """
    driver = launch_into(stack)
    aeron = stack.enter_context(connect_as("bench", driver.aeron_dir))
    subscription = stack.enter_context(aeron.add_subscription(channel_of(answers), PONG_STREAM))
    publication = stack.enter_context(
        closing(aeron.add_exclusive_publication(channel_of(endpoint), PING_STREAM))
    )
    echo = EchoStream(publication, subscription)
    echo.await_connected()
    # Started last: without pong there is nothing to compare.
    raw = RawLimits(stack.enter_context(PeerProcess()), stack)
    datagrams = Throughput(f"raw UDP on loopback, {offload_name()}", 1)
    echoes = RoundTrips("raw UDP on loopback")
    to = f"to {endpoint.host}"
    return [
        MeasuredRate(datagrams, raw.send_datagrams),
        MeasuredLatency(echoes, raw.echo_datagrams),
        *(
            MeasuredRate(
                Throughput(f"echoed {to}, {size} B", size, datagrams), partial(echo.echoes_per_s, size=size)
            )
            for size in SIZES
        ),
        MeasuredLatency(RoundTrips(to, echoes), echo.round_trips),
    ]


def channel_of(address: HostPort) -> str:
    """Return the channel of an address."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"aeron:udp?endpoint={host}:{address.port}"


def address_towards(endpoint: HostPort, port: int) -> HostPort:
    """Return the address of this machine from which packets to `endpoint` are sent, with another port.

    Raises ConfigurationError if the name of the host is unknown, or no route to it exists.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return HostPort(probe.getsockname()[0], port)
    except (OSError, UnicodeError) as error:
        # A name that DNS cannot have is an error of its encoding.
        cause = error.strerror if isinstance(error, OSError) else "no name of a host"
        raise ConfigurationError(
            f"--endpoint={shown(f'{endpoint.host}:{endpoint.port}')}: {cause or error}: must be an address to which "
            "this machine has a route"
        ) from None
