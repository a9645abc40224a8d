"""Latencies in a log-linear histogram of fixed size: percentiles with three significant digits.

The range from each power of two, 2048 ns and higher, to the next is divided into 1024 buckets of equal width, so a
bucket is narrower than a thousandth of its values. Memory does not grow, however long a measurement runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99)
_LOWEST_NS: Final = 1
_HIGHEST_NS: Final = 60 * 1_000_000_000
_BUCKETS: Final = 1024  # buckets for each power of two
_EXACT_BITS: Final = 11  # values of fewer bits have a bucket of their own
_US: Final = 1000


class Latencies:
    """Histogram of latencies from 1 ns to a minute; values out of range count as the nearest in range."""

    def __init__(self) -> None:
        self.count = 0
        self._counts = [0] * (_index_of(_HIGHEST_NS) + 1)
        self._sum_ns = 0
        self._min_ns = _HIGHEST_NS
        self._max_ns = 0

    def add(self, latency_ns: int) -> None:
        """Record one latency in ns; one out of range counts as the nearest value in range."""
        value_ns = max(_LOWEST_NS, min(latency_ns, _HIGHEST_NS))
        self._counts[_index_of(value_ns)] += 1
        self.count += 1
        self._sum_ns += value_ns
        self._min_ns = min(self._min_ns, value_ns)
        self._max_ns = max(self._max_ns, value_ns)

    def percentile_ns(self, percentile: float) -> int:
        """Return a latency that `percentile` % (0 to 100) of those recorded do not exceed; 0 if nothing was recorded.

        It is the highest value of a bucket, but never above the highest latency recorded.
        """
        # Of 1000 values, the 99.9th percentile is the 999th. Without rounding first, the quotient can be too large:
        # 41000 * 99.9 / 100 is 40959.00000000001.
        rank = max(1, -int(-round(self.count * percentile / 100, 6) // 1))
        for index, passed in enumerate(accumulate(self._counts)):
            if passed >= rank:
                return min(_highest_of(index), self._max_ns)
        return 0

    def buckets(self) -> Iterator[tuple[int, int]]:
        """Yield the highest latency in ns and the count of each bucket that is not empty, in ascending order."""
        return ((_highest_of(index), count) for index, count in enumerate(self._counts) if count)

    def document(self) -> dict[str, object]:
        """Return the count, and minimum, mean, maximum and percentiles in µs, for a JSON document."""
        values = dict(self._values_ns())
        return {
            "count": self.count,
            "min_us": _us(values.pop("min")),
            "mean_us": _us(values.pop("mean")),
            "max_us": _us(values.pop("max")),
            "percentiles_us": {name.removesuffix(" %"): _us(value) for name, value in values.items()},
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values in µs as text, none if nothing was recorded."""
        return [(name, f"{_us(value):,.1f}") for name, value in self._values_ns()] if self.count else []

    def _values_ns(self) -> Iterator[tuple[str, float]]:
        yield "min", self._min_ns if self.count else 0
        yield "mean", self._sum_ns / max(self.count, 1)
        for percentile in PERCENTILES:
            yield f"{percentile:g} %", self.percentile_ns(percentile)
        yield "max", self._max_ns


def _index_of(value_ns: int) -> int:
    """Return the bucket of a value: the value itself below 2048, else by its 11 highest bits and their shift."""
    shift = max(value_ns.bit_length() - _EXACT_BITS, 0)
    return shift * _BUCKETS + (value_ns >> shift)


def _highest_of(index: int) -> int:
    """Return the highest value of a bucket in ns."""
    shift = max(index // _BUCKETS - 1, 0)
    return ((index - shift * _BUCKETS + 1) << shift) - 1


def _us(latency_ns: float) -> float:
    return round(latency_ns / _US, 3)
