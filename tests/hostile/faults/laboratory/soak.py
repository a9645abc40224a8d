"""Soak: the system of a plan runs without injected faults, while clients come and go; its resources are sampled.

It ends at once if a stream or a recorder stands still. `judgement` compares the samples with bounds afterwards.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from laboratory.conditions import progress
from laboratory.flows import FLOWS
from laboratory.judgement import Sample
from laboratory.plan import DRIVERS, RECORDERS, Plan, machine_of
from laboratory.pressure import Bound, stalled_s
from laboratory.processes import cpu_s_of, descriptors_of, status_of
from laboratory.records import RECEIVED, SENT, read_log
from laboratory.rig import HERE
from laboratory.trial import Trial

INTERVAL_S: Final = 10
STANDSTILL_S: Final = (
    60  # without a message; invented: five times what a system may take to recover from a fault
)
#: For what takes 25 s on a machine with idle processors.
WARM_UP_S: Final = 120
WATCHED: Final = (*DRIVERS, *RECORDERS, *(name for pair in FLOWS.values() for name in pair))


class Soak(Trial):
    """A run that samples memory, descriptors, counters, files, processor time and latency.

    Each sample is appended to `samples.jsonl` in its folder; `finish` writes `samples.csv` and `samples.json`.
    """

    recorder_options = ("--retain-bytes", "8m")

    def __init__(self, plan: Plan, keep: Path | None = None) -> None:
        super().__init__(plan, keep)
        self._due_s = self._start_s = time.monotonic()
        self._stalled_s = stalled_s()
        self._alive: dict[str, tuple[Bound, object]] = {}
        self._is_warm = False
        self.samples: list[Sample] = []

    def _start(self) -> None:
        """Start the system, and fill the queues of its drivers before the first sample."""
        super()._start()
        started = {name: self._start_warm_up(name) for name in DRIVERS}
        try:
            self._await(
                lambda: all(process.poll() is not None for process in started.values()),
                WARM_UP_S,
                "the queues of the drivers are not filled",
            )
        finally:
            for process in started.values():
                process.kill()
                process.wait()
        for name, process in started.items():
            if process.returncode:
                self.rig.report(
                    f"{name}: its queues are not filled: warm_up.py ended with {process.returncode}"
                )
                self.rig.stop()
        self._is_warm = True
        self._begin(time.monotonic())

    def _start_warm_up(self, name: str) -> subprocess.Popen[bytes]:
        machine = machine_of(name)
        command = [*self.rig.network.within(machine), sys.executable, HERE / "warm_up.py"]
        return subprocess.Popen([*command, self.rig.files[machine].directory], env=os.environ)

    def tick(self) -> None:
        """Take a sample if it is due."""
        if not self._is_warm:
            return
        now_s = time.monotonic()
        if not all(self.rig.system.is_running(name) for name in WATCHED):
            if not self.samples:
                self._begin(now_s)
        elif now_s >= self._due_s:
            self._due_s += INTERVAL_S
            self.samples.append({"time_s": round(now_s - self._start_s, 1), **self._sample()})
            with (self.rig.folder / "samples.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.samples[-1]) + "\n")
            self._check_progress()

    def _begin(self, now_s: float) -> None:
        """Begin the first interval."""
        self._start_s, self._due_s = now_s, now_s + INTERVAL_S
        self._stalled_s = stalled_s()

    def _sample(self) -> Sample:
        sample: Sample = {}
        for name in WATCHED:
            pid = self.rig.system.pid(name)
            # Not what is mapped from files: pages of logs and of cnc.dat become resident when they are first used.
            sample[f"{name} private_kb"] = status_of(pid)["RssAnon"]
            sample[f"{name} descriptors"] = len(descriptors_of(pid))
            sample[f"{name} cpu_s"] = cpu_s_of(pid)
        for name in DRIVERS:
            files = self.rig.files[machine_of(name)]
            sample[f"{name} counters"] = len(files.counters())
            sample[f"{name} log_buffers"] = len(files.log_buffers())
        before_s, self._stalled_s = self._stalled_s, stalled_s()
        sample["stalled_s"] = round(self._stalled_s - before_s, 2)
        return sample

    def _check_progress(self) -> None:
        """End the run if a stream or a recorder stands still although publishers offer messages."""
        if not self.is_flowing:
            self._alive.clear()
            return
        for name, state in progress(self.rig).items():
            if name not in self._alive or self._alive[name][1] != state:
                self._alive[name] = Bound(STANDSTILL_S), state
            elif self._alive[name][0].is_over():
                self.rig.report(f"{name} stands still ({self._alive[name][0]})")
                self.rig.stop()

    def finish(self) -> None:
        """Add the latencies, and write the samples."""
        for flow, (publisher, subscriber) in FLOWS.items():
            self._add_latencies(flow, self.rig.log_of(publisher), self.rig.log_of(subscriber))
        (self.rig.folder / "samples.json").write_text(json.dumps(self.samples, indent=1), encoding="utf-8")
        with (self.rig.folder / "samples.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.samples[-1]))
            writer.writeheader()
            writer.writerows(self.samples)

    def _add_latencies(self, flow: str, sent_log: Path, received_log: Path) -> None:
        sent = {(each.source, each.number): each.time_s for each in read_log(sent_log) if each.kind == SENT}
        latencies: list[list[float]] = [[] for _ in self.samples]
        for each in read_log(received_log):
            index = int((each.time_s - self._start_s) // INTERVAL_S) - 1
            if each.kind == RECEIVED and 0 <= index < len(latencies) and (each.source, each.number) in sent:
                latencies[index].append(each.time_s - sent[each.source, each.number])
        for sample, found in zip(self.samples, latencies, strict=True):
            found.sort()
            for name, share in (("latency_ms", 0.5), ("latency_p99_ms", 0.99)):
                value = found[int(len(found) * share)] * 1000 if found else float("nan")
                sample[f"{flow} {name}"] = round(value, 2)
