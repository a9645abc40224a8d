"""Plot of the results of a benchmark: throughput with limits, and percentiles of round trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from aeron_core.cli.bench.results import Result, RoundTrips, Throughput
from aeron_core.cli.messages.latency import PERCENTILES

_COLOUR: Final = "tab:blue"
_LIMIT_COLOUR: Final = "lightgrey"
#: Of each percentile.
_MARKERS: Final = ("o", "s", "^", "d", "x")


def draw(results: list[Result], target: Path) -> None:
    """Write the plot; raise OSError if the file cannot be written."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes: Any = figure.subplots(2, 1)
    rates = [result for result in results if isinstance(result, Throughput)]
    bars = axes[0].barh(
        [rate.name for rate in rates],
        [rate.megabytes_per_s for rate in rates],
        color=[_LIMIT_COLOUR if _is_limit(rate, results) else _COLOUR for rate in rates],
    )
    axes[0].bar_label(bars, labels=[_rate_text(rate) for rate in rates], padding=3)
    axes[0].margins(x=0.3)
    axes[0].set_xlabel("payload, MB/s")
    trips = [result for result in results if isinstance(result, RoundTrips)]
    for percentile, marker in zip(PERCENTILES, _MARKERS, strict=True):
        values = [trip.percentile_us(percentile) for trip in trips]
        axes[1].plot(values, [trip.name for trip in trips], marker, label=f"{percentile:g} %", color=_COLOUR)
    axes[1].set_xlabel("round trip, µs")
    axes[1].margins(y=0.2)
    axes[1].legend(frameon=False, ncols=len(PERCENTILES), loc="lower center", bbox_to_anchor=(0.5, 1))
    for axis in axes:
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:,g}")
        axis.grid(axis="x", alpha=0.3)
    figure.savefig(target, dpi=120)


def _is_limit(result: Result, results: list[Result]) -> bool:
    return any(other.limit is result for other in results)


def _rate_text(rate: Throughput) -> str:
    share = (
        f", {100 * rate.share:.0f} % of {rate.limit.name}" if rate.limit and rate.share is not None else ""
    )
    return f"{rate.megabytes_per_s:,.1f}{share}"
