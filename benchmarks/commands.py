"""Latency of commands: from a client's request to the driver's answer, ours beside the C driver, in microseconds.

One client, ours, sends every command and polls for its answer without a pause, so a figure contains the driver's
idle strategy and its work, and no pause of the client. A thousand publications are added with up to 64 commands on
their way. Each driver is a process with the default settings; they take
turns. The first command of each kind after the start of a driver is listed separately: it allocates and resolves.

The C driver of pyaeron is measured if a Python with pyaeron is found: the one that runs this program, that of
`.venv-interop`, or the one of `--pyaeron`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from start_up import C_DRIVER, OUR_DRIVER, foreign_python, started

import aeron_core

ROUNDS = 3
REPETITIONS = 300
STREAM_ID = 1001
UDP = "aeron:udp?endpoint=localhost:{port}"
#: More than repetitions: the C driver refuses a port whose last channel it has not closed yet.
PORTS = range(24400, 25400)
#: A shorter term costs less to allocate; both drivers write the same number of bytes.
TERM = "term-length=64k"
#: Publications that are added together, how often, and commands that wait for their answers meanwhile.
MANY, TIMES, WAITING = 1000, 3, 64

Latencies = dict[str, list[float]]


class Commands:
    """A client that measures each of its commands."""

    def __init__(self, aeron: aeron_core.Aeron) -> None:
        self._aeron = aeron
        self.latencies: Latencies = defaultdict(list)

    def measure(self, title: str, add: Callable[[], aeron_core.Registration[object]]) -> object:
        """Send a command, wait for the answer without a pause, and record the microseconds."""
        started = time.perf_counter()
        registration = add()
        while not registration.is_done:
            self._aeron.do_work()
        self.latencies[title].append((time.perf_counter() - started) * 1e6)
        return registration.result()

    def run(self, index: int) -> None:
        """Send every kind of command once, then close what was added."""
        aeron = self._aeron
        udp = UDP.format(port=PORTS[index % len(PORTS)])
        added = [
            self.measure("add counter", lambda: aeron.add_counter_async(1001, b"", "measured")),
            self.measure(
                "add subscription, IPC", lambda: aeron.add_subscription_async("aeron:ipc", STREAM_ID)
            ),
            self.measure(
                "add publication, IPC",
                lambda: aeron.add_exclusive_publication_async(f"aeron:ipc?{TERM}", STREAM_ID),
            ),
            self.measure("add subscription, UDP", lambda: aeron.add_subscription_async(udp, STREAM_ID)),
            self.measure(
                "add publication, UDP",
                lambda: aeron.add_exclusive_publication_async(f"{udp}|{TERM}", STREAM_ID),
            ),
        ]
        for resource in reversed(added):
            resource.close()  # type: ignore[attr-defined]

    def run_many(self) -> None:
        """Add many publications of each medium, and close them, several times."""
        add = self._aeron.add_exclusive_publication_async
        for medium, channel in (
            ("IPC", f"aeron:ipc?{TERM}"),
            ("UDP", f"{UDP.format(port=PORTS[0])}|{TERM}"),
        ):
            for _ in range(TIMES):
                started = time.perf_counter()
                registrations = []
                for stream_id in range(MANY):
                    registrations.append(add(channel, stream_id))
                    while not registrations[max(stream_id - WAITING, 0)].is_done:
                        self._aeron.do_work()
                while not all(each.is_done for each in registrations):
                    self._aeron.do_work()
                self.latencies[f"add {MANY:,} publications, {medium}"].append(
                    (time.perf_counter() - started) * 1e6
                )
                for each in registrations:
                    each.result().close()


def measure(command: Sequence[object], directory: Path, repetitions: int) -> Latencies:
    """Start a driver, send the commands `repetitions` times, and terminate it."""
    # For many publications, also those that linger.
    counters = {"AERON_COUNTERS_BUFFER_LENGTH": "16m"}
    with (
        started(command, directory, counters),
        aeron_core.connect(directory, use_conductor_invoker=True) as aeron,
    ):
        commands = Commands(aeron)
        for index in range(repetitions):
            commands.run(index)
        commands.run_many()
    return commands.latencies


def measure_rounds(theirs: Path | None, rounds: int, repetitions: int) -> dict[str, dict[str, Latencies]]:
    """Return, per driver and kind of command, the first latency of each round and all later ones."""
    root = Path(tempfile.mkdtemp(prefix="aeron-commands-", dir="/dev/shm"))
    names = ["ours"] + (["C driver"] if theirs else [])
    found: dict[str, dict[str, Latencies]] = {
        name: {"first": defaultdict(list), "warm": defaultdict(list)} for name in names
    }
    try:
        for index in track(range(rounds), description="measuring", console=Console(stderr=True)):
            for name in names:
                directory = root / f"{name.replace(' ', '-')}-{index}"
                command = OUR_DRIVER if name == "ours" else [theirs, "-c", C_DRIVER, directory]
                for title, values in measure(command, directory, repetitions).items():
                    found[name]["first"][title].append(values[0])
                    found[name]["warm"][title] += values[1:]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return found


def summarize(found: dict[str, dict[str, Latencies]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return, per driver and command, the median of the first ones and the percentiles of the warm ones."""
    return {
        name: {
            title: {
                "first": float(np.median(kinds["first"][title])),
                "p50": float(np.percentile(warm, 50)),
                "p99": float(np.percentile(warm, 99)),
                "max": float(np.max(warm)),
            }
            for title, warm in kinds["warm"].items()
        }
        for name, kinds in found.items()
    }


def main() -> None:
    """Measure in rounds and print the percentiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="starts of each driver (%(default)s)")
    parser.add_argument(
        "--repetitions", type=int, default=REPETITIONS, help="commands of a kind per start (%(default)s)"
    )
    parser.add_argument("--pyaeron", type=Path, metavar="PYTHON", help="a Python with pyaeron")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    theirs = foreign_python(options.pyaeron)
    summary = summarize(measure_rounds(theirs, options.rounds, options.repetitions))
    if options.json:
        print(json.dumps(summary, indent=2))
        return
    table = Table(title=f"microseconds, {options.rounds} starts, load {os.getloadavg()[0]:.1f}")
    table.add_column("")
    for name in summary:
        for column in ("first", "p50", "p99", "max"):
            table.add_column(f"{name} {column}", justify="right")
    for title in summary["ours"]:
        values = (f"{value:,.0f}" for figures in summary.values() for value in figures[title].values())
        table.add_row(title, *values)
    Console(width=120).print(table)
    if theirs is None:
        print("found no pyaeron: `make bench` creates an environment with both", file=sys.stderr)


if __name__ == "__main__":
    main()
