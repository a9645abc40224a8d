"""Lags of queries as Prometheus metrics."""

from types import SimpleNamespace

from prometheus_client import CollectorRegistry
from pyspark_aeron.lag import StreamLag
from pyspark_aeron.lag_listener import QueryLag
from pyspark_aeron.lag_metrics import METRICS, LagMetrics
from pyspark_aeron.pipeline.commands import _monitored_lags

LABELS = {
    "query": "copy",
    "channel": "aeron:ipc",
    "stream_id": "22",
    "session_id": "11",
    "recording_id": "0",
}


def registered():
    lags, registry = LagMetrics(), CollectorRegistry()
    registry.register(lags)
    return lags, registry


def test_the_last_lag_of_a_query_is_collected():
    lags, registry = registered()

    lags(QueryLag("copy", 7, (StreamLag(0, 128, 0.5, "aeron:ipc", 22, 11),)))
    lags(QueryLag("copy", 8, (StreamLag(0, 64, 0.25, "aeron:ipc", 22, 11),)))

    assert registry.get_sample_value("aeron_query_lag_bytes", LABELS) == 64
    assert registry.get_sample_value("aeron_query_lag_seconds", LABELS) == 0.25


def test_an_unknown_age_is_left_out():
    lags, registry = registered()

    lags.report("copy", [StreamLag(9, 128, None)])

    unknown = {**LABELS, "channel": "", "stream_id": "0", "session_id": "0", "recording_id": "9"}
    assert registry.get_sample_value("aeron_query_lag_bytes", unknown) == 128
    assert registry.get_sample_value("aeron_query_lag_seconds", unknown) is None


def test_the_lags_of_the_last_256_queries_are_kept():
    lags, registry = registered()
    for number in range(300):
        lags.report(f"query-{number}", [StreamLag(0, number, 0.0, "aeron:ipc", 22, 11)])
        lags.report("query-0", [StreamLag(0, 7, 0.0, "aeron:ipc", 22, 11)])

    kept = {
        sample.labels["query"]
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "aeron_query_lag_bytes"
    }
    assert kept == {"query-0", *(f"query-{number}" for number in range(45, 300))}


def test_what_pipeline_run_exports_to_opentelemetry_are_the_lags(monkeypatch):
    exports = []

    class Export:
        def __init__(self, *arguments):
            exports.append(arguments)

        def close(self):
            exports.append("closed")

    monkeypatch.setattr("aeron_core.metrics.opentelemetry.Export", Export)

    with _monitored_lags(None, "http://collector/v1/metrics") as report:
        report(SimpleNamespace(query="copy", streams=[StreamLag(0, 64, 0.25, "aeron:ipc", 22, 11)]))

    (url, samples, metrics), end = exports
    assert (url, end) == ("http://collector/v1/metrics", "closed")
    assert metrics is METRICS
    assert [(sample.metric.name, sample.value) for sample in samples()] == [
        ("query_lag_bytes", 64),
        ("query_lag_seconds", 0.25),
    ]
