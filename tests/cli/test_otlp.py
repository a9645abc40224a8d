"""Metrics of a driver in a process of its own, exported by OTLP; OpenTelemetry decodes the requests."""

import http.server
import signal
import threading

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest


class _Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = ExportMetricsServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append(request)
        self.server.arrived.set()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def collector():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        server.received, server.arrived = [], threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.system
def test_a_driver_exports_its_counters_and_once_more_at_its_end(start, tmp_path, collector, monkeypatch):
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    url = f"http://127.0.0.1:{collector.server_port}/v1/metrics"
    process = start(
        "driver", f"-Daeron.dir={tmp_path / 'driver'}", "-Daeron.counters.buffer.length=1m", "--otlp", url
    )

    assert collector.arrived.wait(60)
    (resource,) = collector.received[-1].resource_metrics
    attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
    process.popen.send_signal(signal.SIGTERM)
    outcome = process.ended()

    assert attributes["service.name"] == "aeron-core"
    names = {metric.name for scope in resource.scope_metrics for metric in scope.metrics}
    assert {"aeron.driver_bytes_sent", "aeron.driver_heartbeat_age_seconds"} <= names
    assert outcome.code == signal.SIGTERM
    assert not outcome.err


@pytest.mark.system
def test_a_recorder_exports_what_it_serves_to_prometheus(
    start, running_driver, tmp_path, collector, monkeypatch
):
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    url = f"http://127.0.0.1:{collector.server_port}/v1/metrics"
    _, directory = running_driver
    process = start("record", "aeron:ipc", "1", "--to", tmp_path / "archive", "--otlp", url, "-d", directory)

    assert collector.arrived.wait(60)
    process.popen.send_signal(signal.SIGTERM)
    process.ended()

    (resource,) = collector.received[-1].resource_metrics
    names = {metric.name for scope in resource.scope_metrics for metric in scope.metrics}
    assert names == {"aeron.archive_free_bytes", "aeron.archive_size_bytes"}


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://localhost", ""])
def test_a_collector_without_a_url_is_refused_in_one_line(start, tmp_path, url):
    outcome = start("driver", f"-Daeron.dir={tmp_path / 'driver'}", "--otlp", url).ended()

    assert outcome.code in (1, 2)
    assert f"--otlp={url}: must be the URL" in outcome.err
    assert outcome.err.count("\n") == 1
