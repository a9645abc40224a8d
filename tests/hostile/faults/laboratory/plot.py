"""Plot of a soak: memory, latency, descriptors and the pressure of the machine over time. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from laboratory.flows import FLOWS
from laboratory.judgement import Sample
from laboratory.plan import DRIVERS, RECORDERS
from laboratory.soak import INTERVAL_S, WATCHED


def plot(samples: list[Sample], path: Path) -> None:
    """Write a picture of the samples."""
    from matplotlib import pyplot  # noqa: PLC0415 - not needed to run a soak

    minutes = [sample["time_s"] / 60 for sample in samples]
    figure, ((memory, latency), (descriptors, pressure)) = pyplot.subplots(2, 2, figsize=(11, 7), sharex=True)
    for name in (*DRIVERS, *RECORDERS):
        memory.plot(minutes, [sample[f"{name} private_kb"] / 1024 for sample in samples], label=name)
        descriptors.plot(minutes, [sample[f"{name} descriptors"] for sample in samples], label=name)
    clients = [name for name in WATCHED if name not in (*DRIVERS, *RECORDERS)]
    largest = [max(sample[f"{name} private_kb"] for name in clients) / 1024 for sample in samples]
    memory.plot(minutes, largest, label="largest client")
    for flow in FLOWS:
        line = latency.plot(
            minutes, [sample[f"{flow} latency_ms"] for sample in samples], label=f"{flow}, median"
        )
        latency.plot(
            minutes,
            [sample[f"{flow} latency_p99_ms"] for sample in samples],
            color=line[0].get_color(),
            linestyle=":",
            linewidth=1,
        )
    latency.set_yscale("log")
    pressure.plot(minutes, [100 * sample["stalled_s"] / INTERVAL_S for sample in samples], color="grey")
    memory.set(ylabel="private memory, MiB")
    latency.set(ylabel="latency, ms (dotted: 99th percentile)")
    descriptors.set(xlabel="minutes", ylabel="open descriptors")
    pressure.set(xlabel="minutes", ylabel="time with a task waiting for a processor, %", ylim=(0, 100))
    for axes in (memory, descriptors):
        axes.set_ylim(bottom=0)
    for axes in (memory, latency, descriptors):
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=80)
