import pytest

from aeron_core.cli.messages.latency import Latencies


def test_percentiles_match_the_recorded_values():
    latencies = Latencies()

    for microseconds in range(1, 1001):
        latencies.add(microseconds * 1000)

    document = latencies.document()
    assert document["count"] == 1000
    assert document["percentiles_us"]["50"] == pytest.approx(500, rel=0.002)
    assert document["percentiles_us"]["99"] == pytest.approx(990, rel=0.002)
    assert document["max_us"] == pytest.approx(1000, rel=0.002)


def test_a_value_out_of_range_counts_as_the_nearest_in_range():
    latencies = Latencies()

    latencies.add(-5)
    latencies.add(10**15)

    assert latencies.count == 2
    assert latencies.document()["max_us"] == pytest.approx(60e6, rel=0.002)


@pytest.mark.parametrize("value_ns", [1, 2047, 2048, 2049, 4095, 4096, 123_456, 987_654_321, 59_999_999_999])
def test_a_percentile_is_within_a_thousandth_of_its_value(value_ns):
    latencies = Latencies()

    latencies.add(value_ns)
    latencies.add(60 * 10**9)

    assert value_ns <= latencies.percentile_ns(50) <= value_ns * 1.001


def test_ranks_are_exact():
    latencies = Latencies()

    for value_ns in range(1, 1001):
        latencies.add(value_ns)

    assert [latencies.percentile_ns(q) for q in (50, 90, 99, 99.9, 99.99)] == [500, 900, 990, 999, 1000]


def test_a_histogram_without_values_is_empty():
    document = Latencies().document()

    assert (document["count"], document["min_us"], document["mean_us"], document["max_us"]) == (0, 0, 0, 0)
    assert Latencies().rows() == []
