"""Lags of queries as metrics of Prometheus; `samples` for `aeron_core.metrics.opentelemetry.observe`.

lags = LagMetrics()
prometheus_client.REGISTRY.register(lags)
spark.streams.addListener(LagListener(["/data/recordings"], lags))
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from prometheus_client import metrics_core
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from aeron_core.metrics.samples import Metric, Sample

if TYPE_CHECKING:
    from pyspark_aeron.lag import StreamLag
    from pyspark_aeron.lag_listener import QueryLag

#: Queries whose lag is kept. Invented.
_MAX_QUERIES: Final = 256
_LABELS: Final = ("query", "channel", "stream_id", "session_id", "recording_id")
_UNREAD: Final = Metric(
    "query_lag_bytes", "Recorded bytes that a query has not read.", grows=False, labels=_LABELS, unit="By"
)
_AGE: Final = Metric(
    "query_lag_seconds",
    "Age of the oldest message that a query has not read.",
    grows=False,
    labels=_LABELS,
    unit="s",
)
METRICS: Final = (_UNREAD, _AGE)


class LagMetrics(Collector):
    """Collects the last lag of each query on each of its streams; a scrape may be on any thread.

    A query keeps its last lag after its end, so that an alert on it is seen, until 256 others have reported theirs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lags: dict[str, tuple[StreamLag, ...]] = {}

    def __call__(self, lag: QueryLag) -> None:
        """Set the lag of a query: an `on_lag` of LagListener."""
        self.report(lag.query, lag.streams)

    def report(self, query: str, streams: Iterable[StreamLag]) -> None:
        """Set the lag of a query on all its streams."""
        with self._lock:
            # A query without a name has a new id at each start: without a limit, labels would accumulate.
            self._lags.pop(query, None)
            self._lags[query] = tuple(streams)
            if len(self._lags) > _MAX_QUERIES:
                del self._lags[next(iter(self._lags))]

    def samples(self) -> Iterator[Sample]:
        """Yield the unread bytes, and the age of the oldest unread message where it is known."""
        with self._lock:
            lags = dict(self._lags)
        for query, streams in lags.items():
            for stream in streams:
                numbers = (stream.stream_id, stream.session_id, stream.recording_id)
                labels = (query, stream.channel, *map(str, numbers))
                yield Sample(_UNREAD, labels, stream.bytes)
                if stream.seconds is not None:
                    yield Sample(_AGE, labels, stream.seconds)

    def collect(self) -> Iterator[metrics_core.Metric]:
        """Yield both metrics, also without a value."""
        families = {
            each.name: GaugeMetricFamily(f"aeron_{each.name}", each.help, labels=each.labels)
            for each in METRICS
        }
        for sample in self.samples():
            families[sample.metric.name].add_metric(sample.labels, sample.value)
        yield from families.values()
