"""Metrics of the counters of channel endpoints: those of protectors, and of refusals."""

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from aeron_core._native import wire
from aeron_core.concurrent import counter_types as types
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE, CounterRecord
from aeron_core.metrics.opentelemetry import observe
from aeron_core.metrics.prometheus import prometheus_text
from aeron_core.metrics.samples import counter_samples
from aeron_core.metrics.scrape import is_set_back, scraped

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121|security=orders"


def counter(number, type_id, label, value, registration_id=7):
    key = types.channel_key(label.partition(": ")[2]).ljust(wire.COUNTER_KEY_MAX_LENGTH, b"\0")
    return CounterRecord(
        number,
        wire.COUNTER_STATE_ALLOCATED,
        type_id,
        NOT_FREE_TO_REUSE,
        key,
        label,
        value,
        registration_id,
        0,
        0,
    )


RECORDS = [
    counter(50, types.PROTECTION, f"security-sealed: {CHANNEL}", 5),
    counter(51, types.PROTECTION, f"security-refused-replayed: {CHANNEL}", 2),
    counter(52, types.REFUSALS, f"security-refused-plain: {CHANNEL}", 3),
    counter(53, types.REFUSALS, "sp-malformed: aeron:sp?endpoint=localhost:9", 1),
    counter(54, types.PROTECTION, "security-sealed: name resolver", 4, -1),
]


def lines(records):
    text = prometheus_text(lambda: counter_samples(records))
    return {line for line in text.splitlines() if not line.startswith("#")}


def test_counters_of_endpoints_have_names_reasons_and_channels_as_labels():
    of_channel = f'channel="{CHANNEL}",'

    assert lines(RECORDS) == {
        f'aeron_security_events_total{{{of_channel}name="sealed",registration_id="7"}} 5.0',
        f'aeron_security_refused_datagrams_total{{{of_channel}reason="replayed",registration_id="7"}} 2.0',
        f'aeron_security_refused_datagrams_total{{{of_channel}reason="plain",registration_id="7"}} 3.0',
        'aeron_refused_connections_total{channel="aeron:sp?endpoint=localhost:9",name="sp-malformed",'
        'registration_id="7"} 1.0',
        'aeron_security_events_total{channel="name resolver",name="sealed",registration_id="-1"} 4.0',
    }


@pytest.mark.parametrize(
    "record",
    [
        # As a client may allocate them.
        counter(60, types.PROTECTION, f"security-sealed: {CHANNEL}", 9),
        counter(60, types.PROTECTION, "security-sealed", 9),
        counter(60, types.MEDIA, f"security-sealed: {CHANNEL}", 9),
    ],
)
def test_a_counter_that_is_not_one_of_an_endpoint_or_equal_to_another_one_has_its_id(record):
    found = lines([*RECORDS, record])

    assert len(found) == len(RECORDS) + 1
    labels = f'id="60",label="{record.label}",type_id="{record.type_id}"'
    assert f"aeron_counter{{{labels}}} 9.0" in found


def test_the_metrics_are_read_as_counters_again():
    text = prometheus_text(lambda: counter_samples(RECORDS))

    found = scraped(text, "host").counters

    # Refusals and other counters of a protector have one type here, because their metrics do not contain the type.
    expected = {
        (types.PROTECTION if each.label.startswith("security-") else each.type_id, each.label, each.value)
        for each in RECORDS
    }
    assert {(each.type_id, each.label, each.value) for each in found} == expected
    assert {each.registration_id for each in found} == {7, -1}
    assert len({each.id for each in found}) == len(RECORDS)
    assert lines(found) == lines(RECORDS)


def test_a_count_of_an_endpoint_that_decreases_means_another_driver():
    before, now = (
        scraped(
            prometheus_text(
                lambda value=value: counter_samples([counter(50, 1025, "security-sealed: c", value)])
            ),
            "host",
        ).counters
        for value in (5, 4)
    )

    assert is_set_back(before, now)
    assert not is_set_back(now, before)


def test_opentelemetry_has_them_as_counters_with_attributes():
    reader = InMemoryMetricReader()
    observe(MeterProvider([reader]).get_meter("test"), lambda: counter_samples(RECORDS))

    data = reader.get_metrics_data()

    metrics = {
        metric.name: metric.data
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    refused = metrics["aeron.security_refused_datagrams"]
    assert refused.is_monotonic
    assert {(point.attributes["reason"], point.value) for point in refused.data_points} == {
        ("replayed", 2),
        ("plain", 3),
    }
    assert {point.attributes["channel"] for point in refused.data_points} == {CHANNEL}
