"""Plot of latencies: their histogram, and the latency of each percentile.

Percentiles are drawn at 1 / (1 - percentile) on a logarithmic axis, as of HdrHistogram: each nine takes the same space.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Final

from aeron_core.cli.messages.latency import Latencies
from aeron_core.cli.plots.figure import drawn, show_durations

_NS_PER_S: Final = 1_000_000_000
# Invented: bars per power of ten.
_BARS: Final = 40


def draw_latencies(path: Path, title: str, latencies: Latencies) -> None:
    """Write a plot of at least one latency; raise OSError if the file cannot be written."""
    bars: Counter[int] = Counter()
    fractions: list[float] = []
    values_s: list[float] = []
    passed = 0
    for value_ns, count in latencies.buckets():
        bars[math.floor(math.log10(value_ns) * _BARS)] += count
        passed += count
        # The percentile of the highest value is 100, which has no place on the axis: half a value less has one.
        fractions.append(1.0 / (1.0 - (passed - 0.5) / latencies.count))
        values_s.append(value_ns / _NS_PER_S)
    with drawn(path, title, ("number of messages", "percentiles")) as (histogram, percentiles):
        first, last = min(bars), max(bars)
        edges = [10 ** (index / _BARS) / _NS_PER_S for index in range(first, last + 2)]
        histogram.stairs([bars[index] for index in range(first, last + 1)], edges, fill=True)
        histogram.set_xscale("log")
        show_durations(histogram.xaxis)
        percentiles.step(fractions, values_s, where="pre")
        percentiles.set_xscale("log")
        ticks = [
            percent for percent in (0, 50, 90, 99, 99.9, 99.99, 99.999) if _nines(percent) <= fractions[-1]
        ]
        percentiles.set_xticks(
            [_nines(percent) for percent in ticks], [f"{percent:g} %" for percent in ticks]
        )
        percentiles.set_xticks([], minor=True)
        percentiles.set_yscale("log")
        show_durations(percentiles.yaxis)


def _nines(percent: float) -> float:
    return 1.0 / (1.0 - percent / 100)
