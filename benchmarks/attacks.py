"""What four floods of small packets do to a driver: ours beside the C driver of pyaeron, if there is one.

    attacks.py [--rounds 3] [--seconds 10] [--pyaeron PYTHON] [--json]

    reflected NAKs   104 bytes, a SETUP and a frame behind a gap, in the name of a host that does not answer: datagrams
                     and bytes that this host gets, within 20 s
    forged SETUPs    a thousand in a second, each of another session, at the port of a stream: the longest time without
                     a message of it, and the growth of the driver's private memory. The same without an attack, since
                     other programs delay messages, too
    forged gossip    ours only, with one thread: 70 packets with a thousand invented neighbours, whose names have 250
                     bytes: the longest time without a message of a stream, and that a command takes
    empty fragments  ours only: a peer of a WebSocket endpoint sends half a megabyte in a second of empty fragments of
                     one message, 83,000 of them: the echoes in a second that another peer gets, in turns without it

Each driver is a process with the default settings, beside what an attack needs. A stream has a message in each
millisecond. Figures are medians of rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from peers.fragments import measure_fragments
from rich.console import Console
from rich.progress import track
from rich.table import Table
from start_up import C_DRIVER, OUR_DRIVER, await_true, foreign_python, started

import aeron_core
from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.protocol.frames import DataHeader, Setup
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame

STREAM_ID = 1001
PORT, RESOLVER_PORT = 24_391, 24_392
CHANNEL = f"aeron:udp?endpoint=127.0.0.1:{PORT}|term-length=64k"
REFLECTION_S = 20
SETUPS_PER_S = 1000
#: Of the data that is missing: what a receiver requests.
GAP = 4096
GOSSIP_PACKETS, NEIGHBOURS, NAME_LENGTH, ENTRIES = 70, 1024, 250, 5
OF_GOSSIP = {
    "AERON_NAME_RESOLVER_SUPPLIER": "driver",
    "AERON_DRIVER_RESOLVER_NAME": "attacked",
    "AERON_DRIVER_RESOLVER_INTERFACE": f"127.0.0.1:{RESOLVER_PORT}",
    "AERON_THREADING_MODE": "SHARED",
}

Figures = dict[str, float]


class Running:
    """A driver in a process, and a client of ours."""

    def __init__(self, process: subprocess.Popen[bytes], aeron: aeron_core.Aeron) -> None:
        self.aeron = aeron
        self._process = process

    def private_bytes(self) -> int:
        """Return the anonymous memory of the driver."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith("RssAnon:"))
        return int(line.split()[1]) * 1024

    def longest_gap_ms(self, seconds: float, attack: Callable[[float], object] = lambda _: None) -> float:
        """Return the longest time between two messages of a stream; call `attack` with the seconds so far."""
        with (
            self.aeron.add_subscription(CHANNEL, STREAM_ID) as subscription,
            self.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication,
        ):
            publication.await_connected(10)
            begin_s = received_s = sent_s = time.monotonic()
            longest_s = 0.0
            while (now_s := time.monotonic()) < begin_s + seconds:
                attack(now_s - begin_s)
                if now_s >= sent_s + 0.001:
                    publication.offer(bytes(32))
                    sent_s = now_s
                if subscription.poll_many():
                    longest_s, received_s = max(longest_s, now_s - received_s), now_s
                time.sleep(0.0001)
            return max(longest_s, time.monotonic() - received_s) * 1e3


@contextmanager
def running(command: Sequence[object], directory: Path, variables: dict[str, str]) -> Iterator[Running]:
    """Start a driver with additional variables, and terminate it."""
    with started(command, directory, variables) as process, aeron_core.connect(directory) as aeron:
        yield Running(process, aeron)


def encoded(frame: Setup | ResolutionFrame) -> bytes:
    """Return the bytes of a frame."""
    buffer = AtomicBuffer.allocate(2048)
    return buffer.get_bytes(0, frame.encode(buffer, 0))


def setup(session_id: int) -> bytes:
    """Return a SETUP of a session."""
    return encoded(Setup(session_id=session_id, stream_id=STREAM_ID, term_length=65536, mtu=1408))


def reflect(driver: Running) -> Figures:
    """Send 104 bytes from a socket that only counts what comes back."""
    subscription = driver.aeron.add_subscription(CHANNEL, STREAM_ID)
    data = AtomicBuffer.allocate(64)
    ids = {"session_id": 77, "stream_id": STREAM_ID, "term_id": 0}
    DataHeader(frame_length=64, frame_type=wire.TYPE_DATA, flags=0xC0, term_offset=GAP, **ids).encode(data, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as victim:
        victim.bind(("127.0.0.1", 0))
        victim.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        victim.sendto(setup(77), ("127.0.0.1", PORT))
        await_true(lambda: len(subscription.images))
        victim.sendto(data.get_bytes(0, 64), ("127.0.0.1", PORT))
        count = length = 0
        end_s = time.monotonic() + REFLECTION_S
        while (left_s := end_s - time.monotonic()) > 0:
            victim.settimeout(left_s)
            try:
                length += len(victim.recv(2048))
                count += 1
            except TimeoutError:
                break
    return {"reflected NAKs: datagrams": count, "reflected NAKs: bytes": length}


def forge_setups(driver: Running, seconds: float) -> Figures:
    """Send SETUPs of many sessions beside a stream."""
    calm_ms = driver.longest_gap_ms(seconds)
    before = driver.private_bytes()
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:

        def attack(elapsed_s: float) -> None:
            nonlocal sent
            while sent < elapsed_s * SETUPS_PER_S:
                sent += 1
                stranger.sendto(setup(sent), ("127.0.0.1", PORT))

        gap_ms = driver.longest_gap_ms(seconds, attack)
    return {
        "no attack: longest gap, ms": calm_ms,
        "forged SETUPs: longest gap, ms": gap_ms,
        "forged SETUPs: private memory, MB": (driver.private_bytes() - before) / 1e6,
    }


def forge_gossip(driver: Running, seconds: float) -> Figures:
    """Send packets with invented neighbours beside a stream, and commands."""
    entries = [
        ResolutionEntry(f"{number:0{NAME_LENGTH}}", bytes((10, 1, number >> 8, number & 255)), 8050)
        for number in range(NEIGHBOURS)
    ]
    packets = [
        encoded(ResolutionFrame(tuple(entries[at % NEIGHBOURS : at % NEIGHBOURS + ENTRIES])))
        for at in range(0, GOSSIP_PACKETS * NEIGHBOURS // 64, NEIGHBOURS // 64)
    ]
    times_ms: list[float] = []
    sent = 0
    command: aeron_core.Registration[aeron_core.Counter] | None = None
    started_s = 0.0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:

        def attack(elapsed_s: float) -> None:
            nonlocal sent, command, started_s
            # All in the first second.
            while sent < min(elapsed_s, 1) * GOSSIP_PACKETS:
                stranger.sendto(packets[sent], ("127.0.0.1", RESOLVER_PORT))
                sent += 1
            # A command in each twentieth of a second, without waiting for it: the stream goes on.
            if command is None and len(times_ms) < elapsed_s * 20:
                started_s = time.monotonic()
                command = driver.aeron.add_counter_async(1001, b"", "measured")
            elif command is not None and command.is_done:
                times_ms.append((time.monotonic() - started_s) * 1e3)
                command.result().close()
                command = None

        gap_ms = driver.longest_gap_ms(seconds, attack)
    return {"forged gossip: longest gap, ms": gap_ms, "forged gossip: longest command, ms": max(times_ms)}


def measure_rounds(theirs: Path | None, rounds: int, seconds: float) -> dict[str, dict[str, list[float]]]:
    """Return the figures of all rounds, by driver and name."""
    root = Path(tempfile.mkdtemp(prefix="aeron-attacks-", dir="/dev/shm"))
    names = ["ours"] + (["C driver"] if theirs else [])
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in names}
    try:
        for index in track(range(rounds), description="measuring", console=Console(stderr=True)):
            for name in names:
                directory = root / f"{name.replace(' ', '-')}-{index}"
                command = OUR_DRIVER if name == "ours" else [theirs, "-c", C_DRIVER, directory]
                figures: Figures = {}
                with running(command, directory, {}) as driver:
                    figures |= forge_setups(driver, seconds)
                with running(command, directory, {}) as driver:
                    figures |= reflect(driver)
                if name == "ours":
                    with running(command, directory, OF_GOSSIP) as driver:
                        figures |= forge_gossip(driver, seconds)
                    with running(command, directory, {}) as driver:
                        figures |= measure_fragments(driver.aeron, seconds / 2)
                for title, value in figures.items():
                    found[name][title].append(value)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return found


def shown(figure: float) -> str:
    """Return a figure with the digits that mean something."""
    return f"{figure:.2f}" if figure < 1 else f"{figure:,.1f}"


def main() -> None:
    """Measure in rounds and print the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="starts of each driver (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="time of an attack (%(default)s)")
    parser.add_argument("--pyaeron", type=Path, metavar="PYTHON", help="a Python with pyaeron")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure_rounds(foreign_python(options.pyaeron), options.rounds, options.seconds)
    medians = {
        name: {title: statistics.median(values) for title, values in figures.items()}
        for name, figures in found.items()
    }
    if options.json:
        print(json.dumps(medians, indent=2))
        return
    table = Table("", *medians, title=f"medians of {options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    for title in medians["ours"]:
        table.add_row(
            title,
            *(shown(figures[title]) if title in figures else "" for figures in medians.values()),
        )
    Console(width=100).print(table)
    if "C driver" not in medians:
        print("found no pyaeron: `make bench` creates an environment with both", file=sys.stderr)


if __name__ == "__main__":
    main()
