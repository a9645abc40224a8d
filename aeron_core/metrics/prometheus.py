"""Metrics of a driver for Prometheus: a collector for a registry of prometheus_client, and the text format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aeron_core.metrics import samples
from aeron_core.metrics.samples import Samples, driver_samples
from aeron_core.observation.driver_files import DriverFiles


class DriverCollector(Collector):
    """Collects what `samples` returns at each scrape, on the thread of the scrape."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    @classmethod
    def of(cls, aeron_dir: Path | str) -> Self:
        """Return a collector for the driver of a directory, for `prometheus_client.REGISTRY.register`.

        Raises CncNotReadyError if no driver is there, CncIncompatibleError if its version is another one.
        """
        files = DriverFiles.open(Path(aeron_dir))
        return cls(lambda: driver_samples(files))

    def collect(self) -> Iterator[Metric]:
        """Yield each metric once, with the values of all streams."""
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for sample in self._samples():
            family = families.get(sample.metric.name)
            if family is None:
                family = families[sample.metric.name] = _family(sample.metric)
            family.add_metric(sample.labels, sample.value)
        yield from families.values()


def _family(metric: samples.Metric) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if metric.grows else GaugeMetricFamily
    return kind(f"aeron_{metric.name}", metric.help, labels=metric.labels)


def registry_of(samples: Samples) -> CollectorRegistry:
    """Return a registry that takes the samples at each scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DriverCollector(samples))
    return registry


def prometheus_text(samples: Samples) -> str:
    """Return all samples in Prometheus's text format."""
    return generate_latest(registry_of(samples)).decode()
