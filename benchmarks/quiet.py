"""Processor time of a standalone driver with idle streams, and its first message after a second of silence.

    quiet.py [--counts 0,100,1000] [--media IPC,UDP] [--clients ours,theirs] [--seconds 10] [--rounds 1] [--tries 10]
             [--drivers PYTHON,…] [--foreign-python PYTHON] [--json FILE]

Each driver runs in a process with default settings, and so does its client, which adds the publications and
subscriptions and then only waits: `ours`, or with `theirs` the client in C of pyaeron, which rings no bell. `--drivers`
names the interpreters of the driver, in turns in each round: one with another version compares both. Figures are those
of the driver: processor time of its threads in percent of a processor, how often each thread ran in a second, and the
time from `offer` to the message at a subscriber that looks for it actively, which says nothing over IPC.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CHANNELS = {"IPC": "aeron:ipc?term-length=64k", "UDP": "aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"}
PORT = 24_321
SILENCE_S = 1.0
START_S = 300.0
#: Until SETUPs and first heartbeats are over, and streams have become quiet.
SETTLE_S = 3.0
NAMES = ("conductor", "sender", "receiver")


def open_ours(directory: str, channel: str, count: int) -> tuple[list[Any], list[Any]]:
    """Return publications and subscriptions of our client."""
    import aeron_core

    aeron = aeron_core.connect(directory)
    subscriptions = [aeron.add_subscription(channel, stream) for stream in range(count)]
    publications = [aeron.add_publication(channel, stream) for stream in range(count)]
    open_ours.client = aeron  # type: ignore[attr-defined]
    return publications, subscriptions


def open_theirs(directory: str, channel: str, count: int) -> tuple[list[Any], list[Any]]:
    """Return publications and subscriptions of the client in C."""
    import pyaeron

    aeron = pyaeron.Aeron(dir=directory)
    subscriptions = [aeron.add_subscription(channel, stream) for stream in range(count)]
    publications = [aeron.add_publication(channel, stream) for stream in range(count)]
    open_theirs.client = aeron  # type: ignore[attr-defined]
    return publications, subscriptions


def run_client(kind: str, directory: str, channel: str, count: int) -> None:
    """Open streams, print `ready`, and offer a message for each line that comes; print the microseconds."""
    publications, subscriptions = (open_ours if kind == "ours" else open_theirs)(directory, channel, count)
    while not all(each.is_connected for each in (*publications, *subscriptions)):
        time.sleep(0.01)
    print("ready", flush=True)
    arrived: list[int] = []

    def on_message(buffer: object, header: object) -> None:
        arrived.append(time.perf_counter_ns())

    for number, _ in enumerate(sys.stdin):
        index = number * 37 % count
        begun = time.perf_counter_ns()
        # Negative or false, by client, if the message was not accepted.
        while not (accepted := publications[index].offer(b"first")) or accepted < 0:
            pass
        while not arrived:
            subscriptions[index].poll(on_message, 10)
        print((arrived.pop() - begun) / 1000, flush=True)


def figures_of(pid: int) -> dict[str, tuple[float, int]]:
    """Return the seconds of processor time of each thread by its name, and how often it was scheduled."""
    figures: dict[str, tuple[float, int]] = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip().removeprefix("aeron-")
        name = name if name in NAMES else "other"
        ran_ns, _, slices = map(int, (task / "schedstat").read_text().split())
        before = figures.get(name, (0.0, 0))
        figures[name] = (before[0] + ran_ns / 1e9, before[1] + slices)
    return figures


def _line(process: subprocess.Popen[str], seconds: float = START_S) -> str:
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], seconds)[0]:
        raise TimeoutError(f"{process.args} printed nothing for {seconds} s")
    return process.stdout.readline()


def measure(driver: str, options: argparse.Namespace, medium: str, kind: str, count: int) -> dict[str, Any]:
    """Return the figures of one driver."""
    client_python = sys.executable if kind == "ours" else options.foreign_python
    with tempfile.TemporaryDirectory(dir="/dev/shm") as parent:
        directory = f"{parent}/aeron"
        channel = CHANNELS[medium].format(port=PORT)
        processes = [
            subprocess.Popen(
                [driver, "-m", "aeron_core", "driver", f"-Daeron.dir={directory}"],
                stdout=subprocess.PIPE,
                text=True,
                cwd=parent,
            )
        ]
        pid = processes[0].pid
        try:
            while not Path(directory, "cnc.dat").exists():
                time.sleep(0.05)
            client = None
            if count:
                client = subprocess.Popen(
                    [client_python, __file__, "--client", kind, directory, channel, str(count)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    cwd=parent,
                )
                processes.append(client)
                _line(client)
            time.sleep(SETTLE_S)
            before, begun = figures_of(pid), time.monotonic()
            time.sleep(options.seconds)
            after, spent = figures_of(pid), time.monotonic() - begun
            trips = []
            for _ in range(options.tries if client else 0):
                time.sleep(SILENCE_S)
                assert client is not None
                assert client.stdin is not None
                client.stdin.write("\n")
                client.stdin.flush()
                trips.append(float(_line(client)))
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGTERM)
                process.wait(30)
    result: dict[str, Any] = {"driver": driver, "medium": medium, "client": kind, "streams": count}
    total = 0.0
    for name in (*NAMES, "other"):
        ran = after.get(name, (0, 0))[0] - before.get(name, (0, 0))[0]
        runs = after.get(name, (0, 0))[1] - before.get(name, (0, 0))[1]
        total += ran
        result[f"{name} %"] = 100 * ran / spent
        result[f"{name} runs/s"] = runs / spent
    result["total %"] = 100 * total / spent
    if trips:
        result["first p50 us"] = statistics.median(trips)
        result["first max us"] = max(trips)
    return result


def main() -> None:
    """Measure all drivers in turns, and print the medians of all rounds."""
    if sys.argv[1:2] == ["--client"]:
        run_client(*sys.argv[2:5], int(sys.argv[5]))  # type: ignore[arg-type]
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", default="0,100,1000", help="numbers of streams (%(default)s)")
    parser.add_argument("--media", default="IPC,UDP", help="of IPC and UDP (%(default)s)")
    parser.add_argument("--clients", default="ours", help="of ours and theirs (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="of silence that is measured (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="of all drivers (%(default)s)")
    parser.add_argument("--tries", type=int, default=10, help="first messages (%(default)s)")
    parser.add_argument("--drivers", default=sys.executable, help="interpreters of drivers (this one)")
    parser.add_argument("--foreign-python", default=".venv-interop/bin/python", help="with pyaeron")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    results: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for medium in options.media.split(","):
            for kind in options.clients.split(","):
                for count in map(int, options.counts.split(",")):
                    for driver in options.drivers.split(","):
                        figures = measure(driver, options, medium, kind, count)
                        results.setdefault((medium, kind, str(count), driver), []).append(figures)
                        print(
                            " ".join(
                                f"{n}: {v:.2f}" if isinstance(v, float) else str(v)
                                for n, v in figures.items()
                            ),
                            f"load {os.getloadavg()[0]:.1f}",
                            flush=True,
                        )
    if options.json:
        options.json.write_text(
            json.dumps([each for some in results.values() for each in some], indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
