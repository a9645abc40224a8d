"""Plots of the page: panels of series over time, and the distribution of round trips.

A panel is about all streams, one driver or one stream. Values are in the unit of their panel: bytes, bytes per second,
events per second, or seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from aeron_core.cli.dashboard.documents import Json, clipped, rounded
from aeron_core.cli.dashboard.trends import ALL, Trends
from aeron_core.frozen import frozen

_NS_PER_S: Final = 1_000_000_000
#: Bars of a distribution, and measurements that it needs. Invented.
_BARS: Final = 16
_MIN_MEASUREMENTS: Final = 8


@frozen()
class _Panel:
    """A plot: its title, its unit, and the values of trends that it shows, by their names on the page."""

    title: str
    unit: str
    series: tuple[tuple[str, str], ...]
    is_optional: bool = False  # only shown if there are values


_PANELS: Final = (
    _Panel("Throughput", "bytes/s", (("published", "published"), ("received", "received"), ("read", "read"))),
    _Panel("Lag", "bytes", (("unsent", "not sent"), ("in_flight", "in flight"), ("unread", "not read"))),
    _Panel("Loss", "bytes/s", (("lost", "lost"),)),
    _Panel(
        "Repair and back pressure",
        "/s",
        (("naks_sent", "NAKs sent"), ("naks_received", "NAKs received"), ("stops", "sender stopped")),
    ),
    _Panel("Round trip", "s", (("rtt", "round trip"),), is_optional=True),
    _Panel("One-way latency", "s", (("one_way", "one-way latency"),), is_optional=True),
)


def document(trends: Trends, scope: str, *, at_ns: int | None = None) -> Json:
    """Return the panels of a scope; `at_ns`: time of the moment that the page shows of a recorded history."""
    times_ns = trends.times_ns
    last_ns = times_ns[-1] if times_ns else 0
    panels: list[Json] = []
    for panel in _PANELS:
        values = {shown: _values(trends, scope, name) for name, shown in panel.series}
        if panel.is_optional and all(each is None for line in values.values() for each in line):
            continue
        panels.append(
            {
                "title": panel.title,
                "unit": panel.unit,
                "series": [{"name": name, "values": line} for name, line in values.items()],
            }
        )
    distribution = _distribution(trends.values(scope, "rtt"))
    if distribution is not None:
        panels.append(distribution)
    return {
        "scope": scope,
        "about": "all streams" if scope == ALL else clipped(_about(scope)),
        "times": [round((each - last_ns) / _NS_PER_S, 3) for each in times_ns],
        "at": None if at_ns is None else round((at_ns - last_ns) / _NS_PER_S, 3),
        "panels": panels,
    }


def _about(scope: str) -> str:
    kind, _, rest = scope.partition(" ")
    if kind == "stream":
        stream_id, _, session_id = rest.partition(" ")
        return f"stream {stream_id}, session {session_id}"
    return scope


def _values(trends: Trends, scope: str, name: str) -> list[float | None]:
    scale = _NS_PER_S if name in ("rtt", "one_way") else 1
    return [None if each is None else rounded(each / scale) for each in trends.values(scope, name)]


def _distribution(values_ns: Iterable[float | None]) -> Json | None:
    """Return how often round trips of each length were measured, in bars of equal width on a logarithmic scale."""
    found = [each for each in values_ns if each is not None]
    if len(found) < _MIN_MEASUREMENTS:
        return None
    low, high = math.log(min(found)), math.log(max(found))
    width = (high - low) / _BARS or 1.0
    counts = [0] * _BARS
    for value in found:
        counts[min(int((math.log(value) - low) / width), _BARS - 1)] += 1
    return {
        "title": "Round trips, distribution",
        "unit": "s",
        "bars": [
            {
                "low": rounded(math.exp(low + number * width) / _NS_PER_S),
                "high": rounded(math.exp(low + (number + 1) * width) / _NS_PER_S),
                "count": count,
            }
            for number, count in enumerate(counts)
        ],
    }
