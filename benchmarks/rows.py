"""Rows of `run.py`: what is measured, with which programs, and the aim.

Each program prints one line of JSON with its figures. The other side of a row is a peer, which does the same work, or a
limit of the machine, which moves the same bytes without messages.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
IPC, UDP = "aeron:ipc", "aeron:udp"
#: Of data frames: what the limit of a row of short messages moves in addition.
HEADER_LENGTH = 32
#: What each peer is imported as.
MODULES = {"pyaeron": "pyaeron", "pyzmq": "zmq", "pynng": "pynng"}


@dataclass(frozen=True)
class Row:
    """One comparison. The ratio is above 1 if we are better: `aim` is its least value."""

    key: str  # names the row on the command line
    title: str
    ours: tuple[str, ...]  # arguments of our program
    other: tuple[str, ...]  # arguments of the peer or the limit
    other_name: str
    figure: str  # key of both programs' JSON
    aim: float
    #: Bytes that the other side moves for each byte of ours.
    scale: float = 1.0

    @property
    def is_time(self) -> bool:
        """Whether the figure is a time, of which less is better."""
        return self.figure.endswith("us")

    @property
    def module(self) -> str | None:
        """The module of the peer, None for a limit."""
        return MODULES.get(self.other_name)

    @property
    def limit(self) -> str | None:
        """The program of `limits/` that is the other side, None for a peer."""
        return self.other[0] if self.module is None else None

    def ratio(self, ours: float, other: float) -> float:
        """Return how much better we are than the other side."""
        return other / ours if self.is_time else ours * self.scale / other


def _beside_pyaeron(
    key: str, title: str, ours: str, theirs: str, channel: str, length: int, figure: str, aim: float
) -> Row:
    program = (sys.executable, str(PEERS / "workloads.py"))
    return Row(
        key,
        title,
        (*program, "ours", ours, channel, str(length)),
        (*program, "theirs", theirs, channel, str(length)),
        "pyaeron",
        figure,
        aim,
    )


def _beside_limit(
    key: str,
    title: str,
    work: str,
    length: int,
    limit: tuple[str, ...],
    figure: str,
    aim: float,
    scale: float = 1.0,
) -> Row:
    program = (sys.executable, str(PEERS / "two_processes.py"))
    name = "raw UDP with GSO" if work == "stream" else "raw UDP"
    return Row(key, title, (*program, work, str(length)), limit, name, figure, aim, scale)


def _beside_sockets(key: str, title: str, work: str, transport: str, peer: str, aim: float) -> Row:
    program = (sys.executable, str(PEERS / "messaging.py"))
    figure = "p50 us" if work.endswith("echo") else "messages/s"
    return Row(
        key,
        title,
        (*program, "ours", work, transport, "64"),
        (*program, peer, work, transport, "64"),
        peer,
        figure,
        aim,
    )


ROWS = (
    _beside_pyaeron(
        "ipc-offer", "IPC 32 B, offer + poll", "throughput", "throughput", IPC, 32, "messages/s", 1
    ),
    _beside_pyaeron(
        "ipc-concurrent",
        "IPC 32 B, concurrent offer + poll",
        "concurrent",
        "concurrent",
        IPC,
        32,
        "messages/s",
        1,
    ),
    _beside_pyaeron("ipc-lists", "IPC 32 B, lists of bytes", "lists", "throughput", IPC, 32, "messages/s", 3),
    _beside_pyaeron("ipc-batches", "IPC 32 B, batches", "batches", "throughput", IPC, 32, "messages/s", 5),
    _beside_pyaeron(
        "udp-offer", "UDP 32 B, offer + poll", "throughput", "throughput", UDP, 32, "messages/s", 1
    ),
    _beside_pyaeron(
        "udp-concurrent",
        "UDP 32 B, concurrent offer + poll",
        "concurrent",
        "concurrent",
        UDP,
        32,
        "messages/s",
        1,
    ),
    _beside_pyaeron("udp-batches", "UDP 32 B, batches", "batches", "throughput", UDP, 32, "messages/s", 3),
    _beside_pyaeron(
        "udp-offer-1k", "UDP 1 KiB, offer + poll", "throughput", "throughput", UDP, 1024, "messages/s", 1
    ),
    _beside_pyaeron(
        "udp-batches-1k", "UDP 1 KiB, batches", "batches", "throughput", UDP, 1024, "messages/s", 3
    ),
    _beside_pyaeron(
        "ipc-trip-p50", "IPC 32 B, round trip p50", "round_trip", "round_trip", IPC, 32, "p50 us", 1
    ),
    _beside_pyaeron(
        "ipc-trip-p99", "IPC 32 B, round trip p99", "round_trip", "round_trip", IPC, 32, "p99 us", 1
    ),
    _beside_pyaeron(
        "udp-trip-p50", "UDP 32 B, round trip p50", "round_trip", "round_trip", UDP, 32, "p50 us", 1
    ),
    _beside_pyaeron(
        "udp-trip-p99", "UDP 32 B, round trip p99", "round_trip", "round_trip", UDP, 32, "p99 us", 1
    ),
    _beside_limit(
        "udp-limit-1k",
        "UDP 1 KiB, two processes",
        "stream",
        1024,
        ("datagrams", "stream", "1408"),
        "MB/s",
        0.5,
    ),
    _beside_limit(
        "udp-limit-32",
        "UDP 32 B, two processes, with headers",
        "stream",
        32,
        ("datagrams", "stream", "1408"),
        "MB/s",
        0.5,
        scale=(32 + HEADER_LENGTH) / 32,
    ),
    _beside_limit(
        "udp-limit-trip",
        "UDP 64 B, two processes, round trip p50",
        "echo",
        64,
        ("datagrams", "echo", "96"),
        "p50 us",
        1 / 1.3,
    ),
    *(
        _beside_sockets(
            f"{peer}-{transport}-{work}", f"64 B, two processes, {kind}, {what}", work, transport, peer, aim
        )
        for peer in ("pyzmq", "pynng")
        for transport, kind in (("ipc", "shared memory beside Unix sockets"), ("net", "UDP beside TCP"))
        for work, what, aim in (("stream", "throughput", 3), ("echo", "round trip p50", 2))
    ),
    *(
        _beside_sockets(
            f"aio-{transport}-{work}",
            f"64 B, coroutines, {kind}, {what}",
            f"aio-{work}",
            transport,
            "pyzmq",
            aim,
        )
        for transport, kind in (("ipc", "shared memory beside Unix sockets"), ("net", "UDP beside TCP"))
        for work, what, aim in (("stream", "throughput", 5), ("echo", "round trip p50", 2))
    ),
)
