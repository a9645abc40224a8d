"""Metrics of a driver for OpenTelemetry: observable instruments on a meter, and export by OTLP over HTTP.

Needs the extra `otel`. Instruments are named `aeron.` and the metric's name: `aeron.driver_bytes_sent`.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource

from aeron_core.metrics.samples import METRICS, Metric, Sample, Samples, driver_samples
from aeron_core.observation.driver_files import DriverFiles
from aeron_core.version import VERSION

#: Seconds for which the samples of one collection are used: the instruments of a meter are called one after another.
_SNAPSHOT_S: Final = 0.1
#: Milliseconds that closing waits for the last export, which an unreachable collector delays. Invented.
_CLOSE_MS: Final = 2000


def observe(
    meter: Meter,
    samples: Samples,
    clock: Callable[[], float] = time.monotonic,
    metrics: Sequence[Metric] = METRICS,
) -> None:
    """Create an observable instrument on `meter` for each of `metrics`, by default those of a driver.

    They call `samples` on the thread that collects, at most every 100 ms. `clock` returns seconds.
    """
    snapshot = _Snapshot(samples, clock)
    for metric in metrics:
        create = meter.create_observable_counter if metric.grows else meter.create_observable_gauge
        create(f"aeron.{metric.name}", [snapshot.of(metric)], metric.unit, metric.help)


def observe_driver(meter: Meter, aeron_dir: Path | str) -> None:
    """Create the instruments for the driver of a directory.

    Raises CncNotReadyError if no driver is there, CncIncompatibleError if its version is another one.
    """
    files = DriverFiles.open(Path(aeron_dir))
    observe(meter, lambda: driver_samples(files))


class Export:
    """Exports samples to an OTLP collector, on a thread of OpenTelemetry's, from its creation until `close`.

    `endpoint` is the URL of the collector's metrics, such as `http://localhost:4318/v1/metrics`. OpenTelemetry's own
    environment variables set everything else: `OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_EXPORTER_OTLP_HEADERS`,
    `OTEL_RESOURCE_ATTRIBUTES` and others. An export that fails is logged by OpenTelemetry, and the next one has its
    values.
    """

    def __init__(self, endpoint: str, samples: Samples, metrics: Sequence[Metric] = METRICS) -> None:
        resource = Resource.create(
            {SERVICE_NAME: "aeron-core", SERVICE_INSTANCE_ID: f"{socket.gethostname()}:{os.getpid()}"}
        )
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint))
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        observe(self._provider.get_meter("aeron_core", VERSION), samples, metrics=metrics)

    def close(self) -> None:
        """Export once more, and end the thread."""
        self._provider.shutdown(_CLOSE_MS)


class _Snapshot:
    """Samples of one collection, by metric."""

    def __init__(self, samples: Samples, clock: Callable[[], float]) -> None:
        self._samples = samples
        self._clock = clock
        self._lock = threading.Lock()  # several readers of one provider collect on threads of their own
        self._until = float("-inf")
        self._by_metric: dict[str, list[Sample]] = {}

    def of(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """Return the callback of an instrument."""

        def callback(_options: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(sample.value, dict(zip(metric.labels, sample.labels, strict=True)))
                for sample in self._now(metric.name)
            ]

        return callback

    def _now(self, name: str) -> Sequence[Sample]:
        with self._lock:
            if self._clock() >= self._until:
                by_metric: defaultdict[str, list[Sample]] = defaultdict(list)
                for sample in self._samples():
                    by_metric[sample.metric.name].append(sample)
                self._by_metric = dict(by_metric)
                self._until = self._clock() + _SNAPSHOT_S
            return self._by_metric.get(name, ())
