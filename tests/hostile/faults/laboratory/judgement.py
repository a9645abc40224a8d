"""Judgement of a soak: which of its values grow, by how much an hour, and whether that is more than a bound allows.

A slope is that of Theil and Sen, the median of the slopes of all pairs of points in the second half of the samples,
when caches are filled. Its lower limit is the quantile that Kendall's test gives for these pairs (Sen 1968): a value
without a trend exceeds it in one of 740 cases, and only a growth whose lower limit is above the bound is a violation.
So neither one step, nor spikes, nor a short run are one.

Points are medians of up to POINTS equal parts of the time: neighbours of ten seconds depend on each other, which would
make the limit too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Sample = dict[str, float]
Values = npt.NDArray[np.float64]

#: Of a window. Each is then at least a minute of a soak of an hour, and 24 have 276 pairs.
POINTS: Final = 24
#: Standard deviations of Kendall's test between the slope and its limit, one-sided: a soak has 45 values.
CERTAINTY: Final = 3.0
#: Share of the time in which tasks wait for a processor by which two points may differ whose latency is compared. Of a
#: machine that another program begins to use, latencies grow, and that is no defect. Invented.
SAME_PRESSURE: Final = 0.2
#: Fewest pairs of which a quantile is a limit. Invented.
FEWEST_PAIRS: Final = 20


@dataclass(frozen=True)
class Bound:
    """How much a value may grow in a window: `once`, `per_hour`, and a share of its median at the start."""

    unit: str
    once: float
    per_hour: float = 0.0
    share: float = 0.0

    def growth_per_hour(self, start: float, hours: float) -> float:
        """Return the growth per hour that a window of `hours` may have, of a value with the median `start`."""
        return self.per_hour + max(self.once, self.share * start) / hours


#: By the last word of a value's name. Measured in two hours, with clients that add and close about 12,000 streams an
#: hour, while each stream carries 400,000 messages:
BOUNDS: Final = {
    # In the second hour the drivers grew by 36 kB, of which 32 were the last of the queues, which are now filled before
    # (`warm_up.py`), and no other process by a page. In a soak of an hour, whose window is half of it, the bound is
    # 256 kB an hour: 22 bytes of a stream, or less than one of a message. No object of Python is as small. In six
    # hours it is 13 bytes of a stream.
    "private_kb": Bound("kB", once=64, per_hour=128),
    # One that is opened later and stays, such as that of a log, is no leak. One in each five minutes is found within an
    # hour.
    "descriptors": Bound("descriptors", once=1.5),
    # Their number depends on the visitors that happen to be there: its median deviation is 8 counters and 1 log. The
    # medians of points vary by half of that. In two hours it is found if one of 400 streams leaves a counter.
    "counters": Bound("counters", once=8),
    "log_buffers": Bound("log buffers", once=2),
    # Medians of ten seconds deviate by 0.6 ms of 5 under load, percentiles by 10 ms of 25; quarters of an hour differed
    # by as much. A backlog, or a list that is searched in each cycle and grows, doubles them.
    "latency_ms": Bound("ms", once=1, share=0.5),
    "latency_p99_ms": Bound("ms", once=10, share=1.0),
}


@dataclass(frozen=True)
class Trend:
    """Growth of a value in a window of a soak."""

    name: str
    first: float  # median of the first point
    last: float
    per_hour: float = math.nan  # NaN if there is no slope
    least_per_hour: float = math.nan  # the lower limit; NaN if there are too few pairs
    bound_per_hour: float = math.nan  # NaN of a value that has no bound
    unit: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether the samples suffice for a judgement."""
        return not math.isnan(self.bound_per_hour) and not math.isnan(self.least_per_hour)

    @property
    def is_violation(self) -> bool:
        """Whether the value grows by more than its bound, with certainty."""
        return self.is_judged and self.least_per_hour > self.bound_per_hour

    def __str__(self) -> str:
        return (
            f"{self.name} grows by {self.per_hour:.1f} {self.unit} an hour, and at least by {self.least_per_hour:.1f} "
            f"(from {self.first:g} to {self.last:g}): its bound is {self.bound_per_hour:.1f}"
        )


def judge(samples: Sequence[Sample], interval_s: float) -> list[Trend]:
    """Return the trend of each value in the second half of the samples, which `interval_s` separates."""
    window = samples[len(samples) // 2 :]
    if not window:
        return []
    times_s = np.array([sample["time_s"] for sample in window])
    stalled = np.array([sample.get("stalled_s", 0.0) for sample in window]) / interval_s
    names = [name for name in window[0] if name not in ("time_s", "stalled_s")]
    return [_trend_of(name, times_s, np.array([each[name] for each in window]), stalled) for name in names]


def _trend_of(name: str, times_s: Values, values: Values, stalled: Values) -> Trend:
    kept = ~np.isnan(values)  # no message has arrived in an interval
    if not kept.any():
        return Trend(name, math.nan, math.nan)
    times, points, pressure = (_points(each[kept]) for each in (times_s / 3600, values, stalled))
    kind = name.rpartition(" ")[2]
    one, other = np.triu_indices(len(points), 1)
    if "latency" in kind:
        alike = abs(pressure[other] - pressure[one]) <= SAME_PRESSURE
        one, other = one[alike], other[alike]
    slopes = (points[other] - points[one]) / (times[other] - times[one])
    trend = Trend(name, float(points[0]), float(points[-1]))
    if not len(slopes):
        return trend
    per_hour, least = float(np.median(slopes)), _lower_limit(slopes, len(points))
    bound = BOUNDS.get(kind)
    if bound is None:
        return Trend(name, trend.first, trend.last, per_hour, least)
    hours = float(times_s[-1] - times_s[0]) / 3600
    allowed = bound.growth_per_hour(float(np.median(points[: max(1, len(points) // 4)])), hours)
    return Trend(name, trend.first, trend.last, per_hour, least, allowed, bound.unit)


def _points(values: Values) -> Values:
    """Return the medians of up to POINTS parts."""
    return np.array([np.median(part) for part in np.array_split(values, min(POINTS, len(values)))])


def _lower_limit(slopes: Values, count: int) -> float:
    """Return the slope that a fraction of pairs exceeds, so many that a value of `count` points surely grows by it."""
    if len(slopes) < FEWEST_PAIRS:
        return math.nan
    pairs = count * (count - 1) / 2
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    share = (1 - CERTAINTY * deviation / pairs) / 2
    return float(np.quantile(slopes, share, method="lower")) if share >= 0 else math.nan
