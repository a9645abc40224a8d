"""Lumberjack over loopback: our reader and writer compared with go-lumber, timbersnake and pylogbeat.

Events of about 185 bytes, without decoding JSON; each round runs all programs in turn. Requires Go, and a package index
on the first run: python benchmarks/lumberjack.py [ROUNDS] [SECONDS]
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lumberjack_codec import event, window_of

import aeron_core

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "interop" / "peers"))
import lumberjack_peers

IN_FLIGHT = 8
STREAM = 7
LEVEL = 3
PATIENCE_S = 60
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
PYLOGBEAT = """
import json, sys, time
from pylogbeat import PyLogBeatClient

port, file, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
lines = open(file, "rb").read().splitlines()
events = 0
with PyLogBeatClient("127.0.0.1", port) as client:
    begin, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < seconds:
        client._sequence = 0  # otherwise it continues to count, which not every reader accepts
        client.send(lines)
        events += len(lines)
    seconds, used = time.perf_counter() - begin, time.process_time() - used
print(json.dumps({"events": events, "seconds": seconds, "processor": used}))
"""


@dataclass
class Result:
    """Result of one run."""

    events: int
    seconds: float
    processor: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    @property
    def thrift(self) -> float:
        """Events per second of processor time."""
        return self.events / self.processor


Runs = dict[str, Callable[[], Result]]


def processor_of(*pids: int) -> float:
    """Return the seconds of processor time used by processes."""
    used = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        used += (int(fields[11]) + int(fields[12])) * TICK_S
    return used


def own_processor() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def process(*command: object) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        try:
            yield started
        finally:
            started.terminate()


def address_of(peer: subprocess.Popen[str]) -> str:
    assert peer.stdout is not None
    return peer.stdout.readline().split()[1]


def run_json(*command: object) -> dict[str, float]:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    report: dict[str, float] = json.loads(done.stdout)
    return report


class Ours:
    """A driver in a process of its own, and a client in this one."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        os.environ.update(AERON_DIR=str(directory), AERON_DIR_DELETE_ON_SHUTDOWN="true")
        self.driver = stack.enter_context(process(sys.executable, "-P", "-m", "aeron_core", "driver"))
        self.aeron = stack.enter_context(aeron_core.connect(directory))

    def counted(self, label: str) -> int:
        (value,) = [each.value for each in self.aeron.counters_reader if each.label.startswith(label)]
        return value


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition; fail if the peer has died."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError(
                f"the other process has not connected, sent or acknowledged within {PATIENCE_S} s: run it alone to see "
                "its error"
            )
        time.sleep(0.0001)


def reader_runs(
    ours: Ours, go: Path, file: Path, seconds: float, stack: ExitStack, *, is_plain: bool
) -> Runs:
    """Return a run for each reader; all readers exist until `stack` is closed."""
    subscription = ours.aeron.add_subscription("aeron:lumberjack?endpoint=127.0.0.1:0", STREAM)
    stack.callback(subscription.close)
    until(lambda: subscription.resolved_endpoint() is not None)
    address = subscription.resolved_endpoint()

    def replay(to: str) -> list[object]:
        return [go, "replay", to, file, IN_FLIGHT, f"{seconds}s"]

    def run_ours() -> Result:
        before = processor_of(ours.driver.pid) + own_processor()
        received = 0
        with process(*replay(str(address))) as writer:
            while writer.poll() is None:
                batch = subscription.poll_batch(1 << 14)
                received += len(batch)
                if not len(batch):
                    time.sleep(0.0001)
            assert writer.stdout is not None
            report = json.loads(writer.stdout.read())
        assert received == report["events"], (received, report)
        return Result(received, report["seconds"], processor_of(ours.driver.pid) + own_processor() - before)

    def peer(*command: object) -> Callable[[], Result]:
        server = stack.enter_context(process(*command))
        to = address_of(server)

        def run() -> Result:
            before = processor_of(server.pid)
            report = run_json(*replay(to))
            return Result(int(report["events"]), report["seconds"], processor_of(server.pid) - before)

        return run

    runs: Runs = {
        "ours": run_ours,
        "go-lumber without JSON": peer(go, "drain", "raw"),
        "go-lumber": peer(go, "drain", "json"),
    }
    if not is_plain:  # it does not support plain events
        server = lumberjack_peers.PEERS / "timbersnake_server.py"
        runs["timbersnake"] = peer(lumberjack_peers.make_python(), server)
    return runs


def writer_runs(ours: Ours, go: Path, lines: Path, seconds: float, stack: ExitStack) -> Runs:
    """Return a run for each writer."""
    address = address_of(stack.enter_context(process(go, "sink")))
    payloads = lines.read_bytes().splitlines()
    keys = f"window={len(payloads)}|pipeline={IN_FLIGHT}|compression={LEVEL}|term-length=16m"
    publication = ours.aeron.add_exclusive_publication(f"aeron:lumberjack?endpoint={address}|{keys}", STREAM)
    stack.callback(publication.close)
    publication.await_connected(20)
    data = np.frombuffer(b"".join(payloads), np.uint8)
    offsets = np.cumsum([0, *map(len, payloads)], dtype=np.int64)

    def run_ours() -> Result:
        before = processor_of(ours.driver.pid) + own_processor()
        begin, events = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            first = 0
            while first < len(payloads):
                sent = publication.offer_batch(data, offsets, first=first)
                first += max(sent, 0)
                if sent <= 0:
                    time.sleep(0.0001)
            events += first
        until(lambda: ours.counted("snd-pos") >= publication.position)
        lasted = time.perf_counter() - begin
        return Result(events, lasted, processor_of(ours.driver.pid) + own_processor() - before)

    def run_golumber() -> Result:
        report = run_json(go, "flood", address, lines, LEVEL, IN_FLIGHT, f"{seconds}s")
        return Result(int(report["events"]), report["seconds"], report["processor"])

    def run_pylogbeat() -> Result:
        port = address.rpartition(":")[2]
        report = run_json(lumberjack_peers.make_python(), "-c", PYLOGBEAT, port, lines, seconds)
        return Result(int(report["events"]), report["seconds"], report["processor"])

    return {"ours": run_ours, "go-lumber": run_golumber, "pylogbeat": run_pylogbeat}


def compare(title: str, runs: Runs, rounds: int) -> None:
    """Run all in turn; print medians, and medians of the ratios of each round."""
    for run in runs.values():
        run()
    results: dict[str, list[Result]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            results[name].append(run())
    print(f"{title}: thousand events a second, and a second of processor time; ours to theirs")
    for name, of_peer in results.items():
        rate = statistics.median(result.rate for result in of_peer)
        thrift = statistics.median(result.thrift for result in of_peer)
        pairs = list(zip(results["ours"], of_peer, strict=True))
        by_rate = statistics.median(ours.rate / other.rate for ours, other in pairs)
        by_thrift = statistics.median(ours.thrift / other.thrift for ours, other in pairs)
        print(f"  {name:24}{rate / 1e3:10.0f}{thrift / 1e3:10.0f}{by_rate:9.2f}{by_thrift:9.2f}", flush=True)


def main(rounds: int = 3, seconds: float = 0.8) -> None:
    go = lumberjack_peers.make_golumber()
    if go is None:
        print("no comparison: found no Go")
        return
    chance = random.Random(1)
    print(f"{os.cpu_count()} processors, {rounds} rounds of {seconds} s, {IN_FLIGHT} windows in flight")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, ExitStack() as all_runs:
        ours = Ours(Path(folder) / "aeron", all_runs)
        for window in (50, 512, 2048):
            payloads = [json.dumps(event(chance, number)).encode() for number in range(window)]
            lines, file = Path(folder) / "lines", Path(folder) / "window"
            lines.write_bytes(b"\n".join(payloads))
            for level in (None, 0, LEVEL):
                file.write_bytes(window_of(payloads, level))
                with ExitStack() as stack:
                    runs = reader_runs(ours, go, file, seconds, stack, is_plain=level is None)
                    name = "plain" if level is None else f"level {level}"
                    compare(f"readers, windows of {window}, {name}", runs, rounds)
            with ExitStack() as stack:
                runs = writer_runs(ours, go, lines, seconds, stack)
                compare(f"writers, windows of {window}, level {LEVEL}", runs, rounds)


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
