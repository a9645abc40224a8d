"""Cost of many streams: of a duty cycle while ten of them are active, of adding them, and the memory of idle ones.

    scale.py [--counts 1,10,100,1000,10000] [--cycles 10000] [--clients 1000]
             [--destinations 1,10,100,1000] [--json FILE] [--markdown FILE] [--plot FILE]

For each number of streams, a driver whose agents the program runs itself. Before each duty cycle a message is offered
to each active stream, and the previous one is read. The time of driver and client is a manual clock, which advances by
10 us for each duty cycle: timers are due as often as in a driver that is busy, however slow this machine is. In 10,000
cycles each quiet stream sends one heartbeat. Figures are processor time. The conductor's timer checks all streams and
clients once a second.

Then a thousand clients with ten counters each, and the cycles of the conductor in which it reads their keepalives; and
one stream that is sent to many destinations, with the sender's time for each destination and datagram.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.workloads import with_free_port

import aeron_core
from aeron_core._native.clock import Clock
from aeron_core.agent.invoker import AgentInvoker

ACTIVE = 10
#: Streams that are added before their answers are awaited.
GROUP = 64
MESSAGE = bytes(32)
CYCLE_NS = 10_000
SETUP_CYCLE_NS = 1_000_000
CHANNELS = {"IPC": "aeron:ipc", "UDP": "aeron:udp"}
TERM = "term-length=64k"
SETTINGS = {
    "counters_buffer_length": "64m",
    "images_limit": 20_000,
    "images_source_limit": 20_000,
    "awaited_images_limit": 20_000,
    "awaited_images_source_limit": 20_000,
    "term_buffer_sparse_file": True,
    # Datagrams of 10,000 heartbeats may arrive together.
    "socket_so_rcvbuf_length": "2m",
}


@dataclass
class Streams:
    """A driver and client with some streams, and the clock of both."""

    clock: Clock
    driver: aeron_core.MediaDriver
    aeron: aeron_core.Aeron
    subscriptions: list[aeron_core.Subscription]
    publications: list[aeron_core.ExclusivePublication]
    publications_s: float = 0  # processor time of driver and client for all of them

    def step(self) -> None:
        """Run all agents once while streams are added."""
        self.driver.do_work()
        self.aeron.do_work()
        self.clock.advance(SETUP_CYCLE_NS)

    def add(self, add: Callable[[int], Any], count: int) -> list[Any]:
        """Add streams in groups, and return them."""
        added: list[Any] = []
        for first in range(0, count, GROUP):
            registrations = [add(index) for index in range(first, min(first + GROUP, count))]
            while not all(registration.is_done for registration in registrations):
                self.step()
            added += [registration.result() for registration in registrations]
        return added

    def exchange(self) -> None:
        """Read the messages of the active streams, and offer the next ones."""
        for subscription, publication in zip(
            self.subscriptions[:ACTIVE], self.publications[:ACTIVE], strict=True
        ):
            subscription.poll(_drop, 10)
            publication.offer(MESSAGE)

    def close(self) -> None:
        """Close client and driver."""
        self.aeron.close()
        self.driver.close()


def _drop(buffer: memoryview, header: object) -> None:
    pass


def open_streams(channel: str, count: int, directory: Path) -> Streams:
    """Return a new driver with `count` streams of a channel that are connected."""
    clock = Clock.manual(now_ns=1_000_000_000)
    driver = aeron_core.MediaDriver({"aeron_dir": directory, **SETTINGS}, invoker=True, clock=clock)
    aeron = aeron_core.connect(
        directory, clock=clock, use_conductor_invoker=True, driver_invoker=driver.do_work
    )
    streams = Streams(clock, driver, aeron, [], [])
    channel = with_free_port(channel)
    streams.subscriptions = streams.add(lambda i: aeron.add_subscription_async(channel, i), count)
    begun = time.process_time()
    short = f"{channel}{'|' if '?' in channel else '?'}{TERM}"
    streams.publications = streams.add(lambda i: aeron.add_exclusive_publication_async(short, i), count)
    streams.publications_s = time.process_time() - begun
    while not all(publication.is_connected for publication in streams.publications):
        streams.step()
    # Until SETUPs and first heartbeats are over.
    for _ in range(300):
        streams.step()
    return streams


def cycles_of(streams: Streams, cycles: int) -> dict[str, float]:
    """Return the mean microseconds of a duty cycle of the sender and of the receiver."""
    assembly = streams.driver._assembly
    assert assembly is not None
    agents = {"sender us": assembly.context.senders.first.agent, "receiver us": assembly.receiver}
    invokers = {name: AgentInvoker(agent, assembly.on_error) for name, agent in agents.items()}
    spent = dict.fromkeys(agents, 0)
    clock = time.thread_time_ns
    for number in range(-cycles // 4, cycles):
        streams.exchange()
        for name, invoker in invokers.items():
            begun = clock()
            invoker.do_work()
            if number >= 0:
                spent[name] += clock() - begun
        streams.clock.advance(CYCLE_NS)
    reads = [clock() for _ in range(2001)]
    overhead = (reads[-1] - reads[0]) / 2000
    return {name: (total / cycles - overhead) / 1000 for name, total in spent.items()}


def timer_of(streams: Streams) -> float:
    """Return the median milliseconds of the conductor's timer."""
    assembly = streams.driver._assembly
    assert assembly is not None
    times = []
    for _ in range(5):
        begun = time.thread_time_ns()
        assembly.conductor._on_timer(streams.clock.nano_time())
        times.append((time.thread_time_ns() - begun) / 1e6)
    return statistics.median(times)


def clients_of(count: int, counters: int) -> dict[str, Any]:
    """Return the milliseconds of the conductor's timer, and of its cycles that read a keepalive of each client."""
    clock = Clock.manual(now_ns=1_000_000_000)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as parent:
        directory = Path(parent) / "aeron"
        driver = aeron_core.MediaDriver({"aeron_dir": directory, **SETTINGS}, invoker=True, clock=clock)
        clients = []
        for _ in range(count):
            client = aeron_core.connect(
                directory, clock=clock, use_conductor_invoker=True, driver_invoker=driver.do_work
            )
            added = [client.add_counter_async(1001, b"", "measured") for _ in range(counters)]
            while not all(each.is_done for each in added):
                driver.do_work()
                client.do_work()
            clients.append(client)
        assembly = driver._assembly
        assert assembly is not None
        streams = Streams(clock, driver, clients[0], [], [])
        timer_ms = timer_of(streams)
        clock.advance(600_000_000)
        for client in clients:
            client.do_work()
        cycles = []
        for _ in range(count):
            begun = time.thread_time_ns()
            assembly.conductor.do_work()
            cycles.append((time.thread_time_ns() - begun) / 1e6)
        for client in clients:
            client.close()
        driver.close()
    return {
        "clients": count,
        "counters": count * counters,
        "timer ms": timer_ms,
        "longest cycle ms": max(cycles),
        "all keepalives ms": sum(cycles),
    }


def destinations_of(count: int, cycles: int) -> dict[str, Any]:
    """Return the sender's microseconds for each destination and datagram of a manual multi-destination channel."""
    clock = Clock.manual(now_ns=1_000_000_000)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as parent:
        directory = Path(parent) / "aeron"
        driver = aeron_core.MediaDriver({"aeron_dir": directory, **SETTINGS}, invoker=True, clock=clock)
        aeron = aeron_core.connect(
            directory, clock=clock, use_conductor_invoker=True, driver_invoker=driver.do_work
        )
        streams = Streams(clock, driver, aeron, [], [])
        endpoint = with_free_port("aeron:udp")
        streams.subscriptions = streams.add(lambda _: aeron.add_subscription_async(endpoint, 1), 1)
        channel = "aeron:udp?control-mode=manual|term-length=1m|fc=max"
        streams.publications = streams.add(lambda _: aeron.add_exclusive_publication_async(channel, 1), 1)
        publication = streams.publications[0]
        publication.add_destination(endpoint)
        # Nothing reads the others: the kernel drops what their buffers do not hold.
        hosts = [f"127.0.{1 + i // 250}.{1 + i % 250}" for i in range(count - 1)]
        sinks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in hosts]
        for each, host in zip(sinks, hosts, strict=True):
            each.bind((host, 0))
            publication.add_destination(f"aeron:udp?endpoint={host}:{each.getsockname()[1]}")
        while not publication.is_connected:
            streams.step()
        assembly = driver._assembly
        assert assembly is not None
        invoker = AgentInvoker(assembly.context.senders.first.agent, assembly.on_error)
        spent = sent = 0
        for _ in range(cycles):
            streams.step()
            streams.subscriptions[0].poll(_drop, 10)
            sent += publication.offer(MESSAGE) > 0
            begun = time.thread_time_ns()
            invoker.do_work()
            spent += time.thread_time_ns() - begun
        for each in sinks:
            each.close()
        streams.close()
    return {"destinations": count, "sent": sent, "sender us": spent / sent / count / 1000}


def anonymous_kib() -> int:
    """Return the memory of this process that belongs to no file, in KiB."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0])


def measure(medium: str, count: int, cycles: int) -> dict[str, Any]:
    """Return the figures of one number of streams."""
    before = anonymous_kib()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as parent:
        directory = Path(parent) / "aeron"
        streams = open_streams(CHANNELS[medium], count, directory)
        memory = anonymous_kib() - before
        files = sum(path.stat().st_blocks * 512 for path in directory.rglob("*.logbuffer")) / 1024
        figures = {
            "medium": medium,
            "streams": count,
            **cycles_of(streams, cycles),
            "timer ms": timer_of(streams),
            "added ms": streams.publications_s * 1000 / count,
            # Of driver and client together; with few streams, mostly what there is without any.
            "memory KiB": memory / count,
            "files KiB": files / count,
        }
        streams.close()
    return figures


def markdown(results: Sequence[dict[str, Any]]) -> str:
    """Return the figures as a table."""
    names = list(results[0])
    lines = [names, ["---"] * len(names)]
    lines += [
        [f"{value:,.2f}" if isinstance(value, float) else f"{value}" for value in each.values()]
        for each in results
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the duty cycles by number of streams."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for medium, figure_name, title in (
        ("IPC", "sender us", "sender, IPC publications"),
        ("UDP", "sender us", "sender, UDP publications"),
        ("UDP", "receiver us", "receiver, UDP images"),
    ):
        chosen = [each for each in results if each["medium"] == medium]
        axes.plot(
            [each["streams"] for each in chosen],
            [each[figure_name] for each in chosen],
            marker="o",
            label=title,
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="streams, ten of them active",
        ylabel="microseconds of a duty cycle",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, bbox_inches="tight", dpi=120)


def main() -> None:
    """Measure all numbers of streams, over IPC and UDP."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", default="1,10,100,1000,10000", help="numbers of streams (%(default)s)")
    parser.add_argument("--media", default="IPC,UDP", help="of IPC and UDP (%(default)s)")
    parser.add_argument("--clients", type=int, default=1000, help="clients; 0: none (%(default)s)")
    parser.add_argument("--destinations", default="1,10,100,1000", help="of one stream (%(default)s)")
    parser.add_argument("--cycles", type=int, default=10_000, help="measured duty cycles (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    parser.add_argument("--markdown", type=Path, help="write the table to a file")
    parser.add_argument("--plot", type=Path, help="draw the duty cycles into a file; needs matplotlib")
    options = parser.parse_args()
    results = []
    for medium in options.media.split(","):
        for count in map(int, options.counts.split(",")):
            results.append(measure(medium, count, options.cycles))
            print(
                "  ".join(
                    f"{name}: {value:.2f}" if isinstance(value, float) else f"{value} {name}"
                    for name, value in results[-1].items()
                ),
                flush=True,
            )
    others = [clients_of(options.clients, 10)] if options.clients else []
    others += [destinations_of(count, 200) for count in map(int, options.destinations.split(",")) if count]
    for each in others:
        print("  ".join(f"{name}: {value:,.4g}" for name, value in each.items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps([*results, *others], indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(results))
    if options.plot:
        draw(results, options.plot)


if __name__ == "__main__":
    main()
