import pytest

from aeron_core.cli.messages.latency import Latencies


def test_percentiles_are_those_of_what_was_recorded():
    latencies = Latencies()

    for microseconds in range(1, 1001):
        latencies.add(microseconds * 1000)

    document = latencies.document()
    assert document["count"] == 1000
    assert document["percentiles_us"]["50"] == pytest.approx(500, rel=0.002)
    assert document["percentiles_us"]["99"] == pytest.approx(990, rel=0.002)
    assert document["max_us"] == pytest.approx(1000, rel=0.002)


def test_what_is_out_of_range_counts_as_the_nearest_that_is_not():
    latencies = Latencies()

    latencies.add(-5)
    latencies.add(10**15)

    assert latencies.count == 2
    assert latencies.document()["max_us"] == pytest.approx(60e6, rel=0.002)
