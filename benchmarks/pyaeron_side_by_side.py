"""Ours compared with pyaeron (the real Aeron C client and driver): interleaved rounds, medians and ratios.

Both run under the Python that runs this program, which must have pyaeron, and keep their files in /dev/shm.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

WORKLOADS = Path(__file__).parent / "peers" / "workloads.py"
ROUNDS = 5
SECONDS = 1.5
IPC = "aeron:ipc"
UDP = "aeron:udp"  # on free ports


@dataclass(frozen=True)
class Work:
    """One row: the workloads of both libraries; `bar` is the target ratio."""

    title: str
    ours: str
    theirs: str
    channel: str
    length: int
    figure: str
    bar: float


ROWS = [
    Work("IPC 32 B, offer + poll", "throughput", "throughput", IPC, 32, "messages/s", 1),
    Work("IPC 32 B, concurrent offer + poll", "concurrent", "concurrent", IPC, 32, "messages/s", 1),
    Work("IPC 32 B, batches", "batches", "throughput", IPC, 32, "messages/s", 5),
    Work("IPC 32 B, lists of bytes", "lists", "throughput", IPC, 32, "messages/s", 3),
    Work("UDP 32 B, offer + poll", "throughput", "throughput", UDP, 32, "messages/s", 1),
    Work("UDP 32 B, concurrent offer + poll", "concurrent", "concurrent", UDP, 32, "messages/s", 1),
    Work("UDP 32 B, batches", "batches", "throughput", UDP, 32, "messages/s", 3),
    Work("UDP 1 KiB, offer + poll", "throughput", "throughput", UDP, 1024, "messages/s", 1),
    Work("UDP 1 KiB, batches", "batches", "throughput", UDP, 1024, "messages/s", 3),
    Work("IPC 32 B, round trip p50", "round_trip", "round_trip", IPC, 32, "p50 us", 1),
    Work("IPC 32 B, round trip p99", "round_trip", "round_trip", IPC, 32, "p99 us", 1),
    Work("UDP 32 B, round trip p50", "round_trip", "round_trip", UDP, 32, "p50 us", 1),
    Work("UDP 32 B, round trip p99", "round_trip", "round_trip", UDP, 32, "p99 us", 1),
]


def measure(library: str, workload: str, work: Work, seconds: float) -> float:
    """Run one workload in a process of its own and return its figure."""
    command = [sys.executable, WORKLOADS, library, workload, work.channel, work.length, seconds]
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "TMPDIR": "/dev/shm"},
    )
    if done.returncode != 0:
        raise SystemExit(f"{library} {work.title}: exit code {done.returncode}, must be 0: {done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1])[work.figure])


def main() -> None:
    """Run all rows and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each row (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="warm-up, and measurement, of one round (%(default)s)"
    )
    options = parser.parse_args()
    if importlib.util.find_spec("pyaeron") is None:
        raise SystemExit("found no pyaeron: run `make bench`, which creates an environment with both")
    python = sys.version.split()[0]
    table = Table(
        title=f"aeron-core and pyaeron, Python {python}, medians of {options.rounds} interleaved rounds"
    )
    table.add_column("work")
    for title in ("ours", "pyaeron", "ratio", "aim"):
        table.add_column(title, justify="right")
    for work in track(ROWS, description="measuring", console=Console(stderr=True)):
        pairs = [
            (
                measure("ours", work.ours, work, options.seconds),
                measure("theirs", work.theirs, work, options.seconds),
            )
            for _ in range(options.rounds)
        ]
        ours = statistics.median(pair[0] for pair in pairs)
        theirs = statistics.median(pair[1] for pair in pairs)
        is_time = work.figure.endswith("us")
        ratio = statistics.median(b / a if is_time else a / b for a, b in pairs)
        shown = [f"{value:,.1f} us" if is_time else f"{value / 1e6:,.2f} M/s" for value in (ours, theirs)]
        table.add_row(work.title, *shown, f"{ratio:.2f}", f"≥ {work.bar:g}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
