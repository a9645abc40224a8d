"""Metrics for OpenTelemetry: its SDK collects them."""

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from aeron_core.metrics.opentelemetry import observe
from aeron_core.metrics.samples import METRICS, Sample

BY_NAME = {metric.name: metric for metric in METRICS}
POSITION = BY_NAME["publisher_position_bytes"]


def collected(reader):
    data = reader.get_metrics_data()
    scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
    return {metric.name: metric for scope in scopes for metric in scope.metrics}


@pytest.fixture
def reader():
    return InMemoryMetricReader()


@pytest.fixture
def meter(reader):
    return MeterProvider([reader]).get_meter("test")


def test_a_sample_is_a_data_point_with_attributes_and_unit(reader, meter):
    observe(meter, lambda: [Sample(POSITION, ("1001", "7", "3", "aeron:ipc"), 64)])

    found = collected(reader)["aeron.publisher_position_bytes"]

    assert found.unit == "By"
    assert found.data.is_monotonic
    (point,) = found.data.data_points
    assert point.value == 64
    assert dict(point.attributes) == {
        "stream_id": "1001",
        "session_id": "7",
        "registration_id": "3",
        "channel": "aeron:ipc",
    }


def test_a_value_that_may_decrease_is_a_gauge(reader, meter):
    observe(meter, lambda: [Sample(BY_NAME["driver_heartbeat_age_seconds"], (), 0.5)])

    (point,) = collected(reader)["aeron.driver_heartbeat_age_seconds"].data.data_points

    assert point.value == 0.5


def test_samples_are_taken_once_for_a_collection(reader, meter):
    now, taken = [0.0], []
    observe(meter, lambda: taken.append(0) or [Sample(POSITION, ("1", "2", "3", "c"), 0)], lambda: now[0])

    collected(reader)
    assert len(taken) == 1

    now[0] += 1
    collected(reader)
    assert len(taken) == 2
