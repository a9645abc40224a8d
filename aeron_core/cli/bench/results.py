"""Results of a benchmark: medians of several rounds, and their share of a limit measured in the same rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from aeron_core.cli.messages.latency import PERCENTILES, Latencies

_MEGABYTE = 1_000_000


@dataclass(slots=True)
class Throughput:
    """Messages per second of each round; a limit counts bytes as messages of one byte."""

    name: str
    size: int  # of a message, in bytes
    limit: Throughput | None = None
    rates: list[float] = field(default_factory=list)

    @property
    def messages_per_s(self) -> float:
        """Median of all rounds."""
        return median(self.rates) if self.rates else 0.0

    @property
    def megabytes_per_s(self) -> float:
        """Median payload per second, in units of 10**6 bytes."""
        return self.messages_per_s * self.size / _MEGABYTE

    @property
    def share(self) -> float | None:
        """Share of the limit, from 0; None without a limit."""
        if self.limit is None or not self.limit.megabytes_per_s:
            return None
        return self.megabytes_per_s / self.limit.megabytes_per_s

    def document(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        return {
            "name": self.name,
            "size": self.size,
            "messages_per_second": round(self.messages_per_s, 1),
            "megabytes_per_second": round(self.megabytes_per_s, 3),
            "rounds": [round(rate, 1) for rate in self.rates],
            "limit": self.limit.name if self.limit else None,
            "share_of_limit": None if self.share is None else round(self.share, 4),
        }


@dataclass(slots=True)
class RoundTrips:
    """Latencies of round trips: a histogram for each round."""

    name: str
    limit: RoundTrips | None = None
    rounds: list[Latencies] = field(default_factory=list)

    def percentile_us(self, percentile: float) -> float:
        """Return the median over all rounds of a percentile (0 to 100), in µs."""
        values = [latencies.percentile_ns(percentile) for latencies in self.rounds if latencies.count]
        return median(values) / 1000 if values else 0.0

    @property
    def count(self) -> int:
        """Number of round trips of all rounds."""
        return sum(latencies.count for latencies in self.rounds)

    @property
    def share(self) -> float | None:
        """The limit's median divided by this one, from 0 to about 1; None without a limit."""
        own = self.percentile_us(50)
        return self.limit.percentile_us(50) / own if self.limit and own and self.limit.count else None

    def document(self) -> dict[str, object]:
        """Return the result as a JSON document."""
        return {
            "name": self.name,
            "count": self.count,
            "percentiles_us": {
                f"{percentile:g}": round(self.percentile_us(percentile), 3) for percentile in PERCENTILES
            },
            "rounds_us": [latencies.percentile_ns(50) / 1000 for latencies in self.rounds],
            "limit": self.limit.name if self.limit else None,
            "share_of_limit": None if self.share is None else round(self.share, 4),
        }


Result = Throughput | RoundTrips


def throughput_rows(results: list[Result]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rows of a table: name, messages/s, MB/s, limit, share."""
    for result in results:
        if isinstance(result, Throughput):
            yield (
                result.name,
                f"{result.messages_per_s:,.0f}" if result.size > 1 else "",
                f"{result.megabytes_per_s:,.1f}",
                result.limit.name if result.limit else "",
                _percent(result.share),
            )


def round_trip_rows(results: list[Result]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table: name, the percentiles of PERCENTILES in µs, limit, share."""
    for result in results:
        if isinstance(result, RoundTrips):
            yield (
                result.name,
                *(f"{result.percentile_us(percentile):,.1f}" for percentile in PERCENTILES),
                result.limit.name if result.limit else "",
                _percent(result.share),
            )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"
