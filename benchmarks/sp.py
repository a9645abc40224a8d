"""SP PAIR1 over loopback: ours compared with pynng, the package nng, and plain sockets that carry the same bytes.

Two processes, one for each end; each round runs all libraries in turn. Requires a package index on the first run:
python benchmarks/sp.py [--rounds N] [--seconds S] [--only NAME...]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "interop" / "peers"))
import sp_peers

WORKLOADS = Path(__file__).parent / "peers" / "sp_workloads.py"
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
TIMEOUT_S = 60
OURS = ("ours", "ours, batches")
PEERS = ("pynng", "nng", "floor")
LENGTHS = (64, 1024, 65_536)


def processor_of(*pids: int) -> float:
    """Return the seconds of processor time used by processes."""
    used = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        used += (int(fields[11]) + int(fields[12])) * TICK_S
    return used


@contextmanager
def process(folder: str, *command: object) -> Iterator[subprocess.Popen[str]]:
    """Run one end until the block ends; its files are in `folder`."""
    with subprocess.Popen(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": folder},
    ) as started:
        # A reader that waits for a line then gets the end of the file.
        too_long = threading.Timer(TIMEOUT_S, started.kill)
        too_long.start()
        try:
            yield started
        finally:
            too_long.cancel()
            started.kill()


def line_of(end: subprocess.Popen[str]) -> str:
    """Return the next line that an end prints."""
    assert end.stdout is not None
    line = end.stdout.readline().strip()
    if not line:
        raise SystemExit(f"a process ended without a result line: run it alone to see its error: {end.args}")
    return line


def run(name: str, kind: str, transport: str, length: int, seconds: float) -> dict[str, float]:
    """Run both ends of a workload; return the figures of the end that measures."""
    python = sys.executable if name.startswith("ours") or name == "floor" else PYTHON_OF_PEERS
    listener, dialer = ("sink", "source") if kind == "throughput" else ("echo", "ask")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, ExitStack() as stack:
        address = "0" if transport == "tcp" else str(Path(folder) / "pair")
        program, common = (folder, python, WORKLOADS, name), (length, seconds)
        one = stack.enter_context(process(*program, listener, transport, address, *common))
        address = line_of(one).split()[1]
        other = stack.enter_context(process(*program, dialer, transport, address, *common))
        line_of(other)
        before = processor_of(one.pid, other.pid)
        figures: dict[str, float] = json.loads(line_of(one if kind == "throughput" else other))
        if "messages" in figures:
            used = processor_of(one.pid, other.pid) - before
            figures["processor"] = used / figures["messages"] * 1e6
        return figures


def compare(names: list[str], kind: str, transport: str, length: int, options: argparse.Namespace) -> None:
    """Run all in turn; print medians, and medians of the ratios to each peer in each round."""
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            results[name].append(run(name, kind, transport, length, options.seconds))
    figures = ("rate", "processor") if kind == "throughput" else ("p50", "p99")
    units = "messages/s, processor us per message" if kind == "throughput" else "p50 us, p99 us"
    print(
        f"{kind}, {transport}, {length} B: {units}; then its first figure as a part of pynng's, nng's, floor's"
    )
    for name, rounds in results.items():
        medians = [statistics.median(each[figure] for each in rounds) for figure in figures]
        shown = f"  {name:16}{medians[0]:14,.1f}{medians[1]:12,.2f}"
        for peer in PEERS:
            if peer in results:
                pairs = zip(rounds, results[peer], strict=True)
                ratio = statistics.median(mine[figures[0]] / theirs[figures[0]] for mine, theirs in pairs)
                shown += f"{ratio:9.2f}"
        print(shown, flush=True)


def main() -> None:
    """Run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.6, help="measured in each round (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=[*OURS, *PEERS], help="these alone")
    parser.add_argument("--kinds", nargs="+", default=["throughput", "round trip"])
    parser.add_argument("--transports", nargs="+", default=["tcp", "ipc"])
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} processors, {options.rounds} rounds of {options.seconds} s, Python {sys.version.split()[0]}"
    )
    for kind in options.kinds:
        for transport in options.transports:
            for length in options.lengths:
                names = [name for name in (*OURS, *PEERS) if not options.only or name in options.only]
                if kind != "throughput":
                    names = [name for name in names if name != "ours, batches"]
                compare(names, kind, transport, length, options)


if __name__ == "__main__":
    PYTHON_OF_PEERS = sp_peers.make_python()
    main()
