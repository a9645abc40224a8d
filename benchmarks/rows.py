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
EMBEDDED = "a program that waits"
#: What each peer is imported as.
MODULES = {"pyaeron": "pyaeron", "C driver": "pyaeron", EMBEDDED: "pyaeron", "pyzmq": "zmq", "pynng": "pynng"}


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
    #: Whether our side needs pyaeron too, for its C client.
    has_c_clients: bool = False

    @property
    def is_time(self) -> bool:
        """Whether the figure is a time, of which less is better."""
        return self.figure.endswith(("us", "s/GB"))

    @property
    def modules(self) -> set[str]:
        """The modules that both sides import."""
        return ({self.module} if self.module else set()) | ({"pyaeron"} if self.has_c_clients else set())

    @property
    def module(self) -> str | None:
        """The module of the peer, None for a limit."""
        return MODULES.get(self.other_name)

    @property
    def limit(self) -> str | None:
        """The program of `limits/` that is the other side, None for a program in Python."""
        return self.other[0] if self.other[0] != sys.executable else None

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


def _sealed_beside_plain(name: str, title: str, work: str, length: int, figure: str, aim: float) -> Row:
    program = (sys.executable, str(PEERS / "two_processes.py"))
    return Row(
        f"sealed-{name}",
        f"{title}, two processes, sealed",
        (*program, f"sealed-{work}", str(length)),
        (*program, work, str(length)),
        "ours, plain",
        figure,
        aim,
    )


def _sealing_beside_openssl(length: int) -> Row:
    program = (sys.executable, str(PEERS / "sealing.py"))
    return Row(
        f"sealing-{length}",
        f"aes-128-gcm, datagrams of {length} B, per processor second",
        (*program, "ours", str(length)),
        (*program, "openssl", str(length)),
        "openssl speed",
        "MB/s",
        0.5,
    )


def _c_clients(
    key: str,
    title: str,
    work: tuple[str, ...],
    figure: str,
    aim: float,
    *,
    sides: tuple[str, str] = ("ours", "theirs"),
    limit: tuple[str, ...] = (),
) -> Row:
    """Return a row of C clients on our driver, beside the same on the C driver or a limit."""
    program = (sys.executable, str(PEERS / "c_clients.py"))
    raw = "raw UDP with GSO" if "stream" in work else "raw UDP"
    return Row(
        key,
        f"C clients, {title}",
        (*program, sides[0], *work),
        limit or (*program, sides[1], *work),
        raw if limit else {"theirs": "C driver", "embedded": EMBEDDED}[sides[1]],
        figure,
        aim,
        has_c_clients=True,
    )


_STREAM = ("shared", "stream", UDP, "1024")
_TRIP = ("shared", "echo", UDP, "64")

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
    _c_clients("c-udp-1k", "UDP 1 KiB", _STREAM, "MB/s", 1),
    _c_clients("c-udp-1k-limit", "UDP 1 KiB", _STREAM, "MB/s", 0.5, limit=("datagrams", "stream", "1408")),
    _c_clients("c-udp-1k-cpu", "UDP 1 KiB, processor time", _STREAM, "s/GB", 5),
    _c_clients("c-udp-trip-p50", "UDP 64 B, round trip p50", _TRIP, "p50 us", 1 / 0.9),
    _c_clients("c-udp-trip-p99", "UDP 64 B, round trip p99", _TRIP, "p99 us", 1 / 0.9),
    _c_clients(
        "c-udp-trip-limit",
        "UDP 64 B, round trip p50",
        _TRIP,
        "p50 us",
        1 / 1.3,
        limit=("datagrams", "echo", "96"),
    ),
    *(
        _c_clients(
            f"c-udp-dedicated-{figure[:3]}",
            f"UDP 64 B, dedicated threads, round trip {figure[:3]}",
            ("dedicated", "echo", UDP, "64"),
            figure,
            1 / 0.9,
        )
        for figure in ("p50 us", "p99 us")
    ),
    _c_clients(
        "gil-trip",
        "UDP 64 B, round trip p99.9 while the GIL is held",
        ("dedicated", "echo", UDP, "64"),
        "p99.9 us",
        0.9,
        sides=("held", "embedded"),
    ),
    *(
        _c_clients(
            f"c-ipc-trip-{figure[:3]}",
            f"IPC 64 B, round trip {figure[:3]}",
            ("shared", "echo", IPC, "64"),
            figure,
            1,
        )
        for figure in ("p50 us", "p99 us")
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
    _sealed_beside_plain("1k", "UDP 1 KiB", "stream", 1024, "MB/s", 0.5),
    _sealed_beside_plain("32", "UDP 32 B", "stream", 32, "MB/s", 0.5),
    _sealed_beside_plain("8k-frames", "UDP, frames of 8 KiB", "stream", 8160, "MB/s", 0.5),
    _sealed_beside_plain("trip", "UDP 64 B, round trip p50", "echo", 64, "p50 us", 1 / 1.3),
    *(_sealing_beside_openssl(length) for length in (1024, 8192)),
)
