"""Soak: the system of a plan runs without injected faults, while clients come and go; its resources are sampled.

Slopes are least-squares fits over the second half of the samples, when caches are filled.
"""

from __future__ import annotations

import csv
import json
import statistics
import time
from pathlib import Path
from typing import Final

from laboratory.plan import DRIVERS, RECORDERS, Plan
from laboratory.processes import descriptors_of, status_of
from laboratory.records import RECEIVED, SENT, read_log
from laboratory.trial import FLOWS, Trial

INTERVAL_S: Final = 10
WATCHED: Final = (*DRIVERS, *RECORDERS, *(name for pair in FLOWS.values() for name in pair))


class Soak(Trial):
    """A run that samples memory, descriptors and latency, into `samples.csv` and `samples.json` of its folder."""

    recorder_options = ("--retain-bytes", "8m")

    def __init__(self, plan: Plan, keep: Path | None = None) -> None:
        super().__init__(plan, keep)
        self._due_s = self._start_s = time.monotonic()
        self.samples: list[dict[str, float]] = []

    def tick(self) -> None:
        """Take a sample if it is due."""
        now_s = time.monotonic()
        if not all(self._system.is_running(name) for name in WATCHED):
            if not self.samples:
                self._start_s, self._due_s = now_s, now_s + INTERVAL_S
        elif now_s >= self._due_s:
            self._due_s += INTERVAL_S
            self.samples.append({"time_s": round(now_s - self._start_s, 1), **self._sample()})

    def _sample(self) -> dict[str, float]:
        sample: dict[str, float] = {}
        for name in WATCHED:
            pid = self._system.pid(name)
            # Not what is mapped from files: pages of logs and of cnc.dat become resident when they are first used.
            sample[f"{name} private_kb"] = status_of(pid)["RssAnon"]
            sample[f"{name} descriptors"] = len(descriptors_of(pid))
        return sample

    def finish(self) -> None:
        """Add the latencies, write the samples, and plot them if matplotlib is installed."""
        for flow, (publisher, subscriber) in FLOWS.items():
            self._add_latencies(flow, self._log_of(publisher), self._log_of(subscriber))
        (self.folder / "samples.json").write_text(json.dumps(self.samples, indent=1), encoding="utf-8")
        with (self.folder / "samples.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.samples[-1]))
            writer.writeheader()
            writer.writerows(self.samples)
        plot(self.samples, self.folder / "samples.png")

    def _add_latencies(self, flow: str, sent_log: Path, received_log: Path) -> None:
        sent = {(each.source, each.number): each.time_s for each in read_log(sent_log) if each.kind == SENT}
        latencies: list[list[float]] = [[] for _ in self.samples]
        for each in read_log(received_log):
            index = int((each.time_s - self._start_s) // INTERVAL_S) - 1
            if each.kind == RECEIVED and 0 <= index < len(latencies) and (each.source, each.number) in sent:
                latencies[index].append(each.time_s - sent[each.source, each.number])
        for sample, found in zip(self.samples, latencies, strict=True):
            sample[f"{flow} latency_ms"] = (
                round(statistics.median(found) * 1000, 2) if found else float("nan")
            )

    def slopes(self) -> dict[str, float]:
        """Return the growth of each value per hour."""
        half = self.samples[len(self.samples) // 2 :]
        times = [sample["time_s"] / 3600 for sample in half]
        if len(half) < 3:
            return {}
        return {
            name: round(statistics.linear_regression(times, [sample[name] for sample in half]).slope, 1)
            for name in half[0]
            if name != "time_s"
        }


def plot(samples: list[dict[str, float]], path: Path) -> None:
    """Write a plot of the memory of each process, if matplotlib is installed."""
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - optional
    except ImportError:
        return
    times = [sample["time_s"] for sample in samples]
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for name in samples[0]:
        if name.endswith("private_kb"):
            axes.plot(
                times, [sample[name] / 1024 for sample in samples], label=name.removesuffix(" private_kb")
            )
    axes.set(xlabel="s", ylabel="private memory, MiB")
    axes.legend(fontsize=7)
    figure.savefig(path)
