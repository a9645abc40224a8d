"""Latencies as histograms: percentiles for people and programs."""

from __future__ import annotations

from typing import Final

from hdrh.histogram import HdrHistogram
from rich.table import Table

PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99)
_LOWEST_NS: Final = 1
_HIGHEST_NS: Final = 60 * 1_000_000_000
_SIGNIFICANT_DIGITS: Final = 3
_US: Final = 1000


class Latencies:
    """Nanoseconds from 1 to a minute, with three significant digits; longer ones count as a minute."""

    def __init__(self) -> None:
        self._histogram = HdrHistogram(_LOWEST_NS, _HIGHEST_NS, _SIGNIFICANT_DIGITS)

    def add(self, latency_ns: int) -> None:
        """Record one."""
        self._histogram.record_value(max(_LOWEST_NS, min(latency_ns, _HIGHEST_NS)))

    @property
    def count(self) -> int:
        """How many were recorded."""
        return int(self._histogram.get_total_count())

    def document(self) -> dict[str, object]:
        """Return the percentiles in µs for a JSON document."""
        return {
            "count": self.count,
            "min_us": self._us(self._histogram.get_min_value()),
            "mean_us": self._us(self._histogram.get_mean_value()),
            "percentiles_us": {
                f"{percentile:g}": self._us(self._histogram.get_value_at_percentile(percentile))
                for percentile in PERCENTILES
            },
            "max_us": self._us(self._histogram.get_max_value()),
        }

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values for people."""
        if not self.count:
            return []
        histogram = self._histogram
        return [
            ("min", self._text(histogram.get_min_value())),
            ("mean", self._text(histogram.get_mean_value())),
            *(
                (f"{percentile:g} %", self._text(histogram.get_value_at_percentile(percentile)))
                for percentile in PERCENTILES
            ),
            ("max", self._text(histogram.get_max_value())),
        ]

    def table(self, title: str) -> Table:
        """Return a table of the percentiles."""
        table = Table("percentile", title=title)
        table.add_column("µs", justify="right")
        for name, value in self.rows():
            table.add_row(name, value)
        return table

    @staticmethod
    def _us(latency_ns: float) -> float:
        return round(latency_ns / _US, 3)

    def _text(self, latency_ns: float) -> str:
        return f"{self._us(latency_ns):,.1f}"
