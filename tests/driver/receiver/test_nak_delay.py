"""Random NAK delays of a group: different for each receiver, and long for most."""

import math

import pytest

from aeron_core.driver.receiver.nak_delay import MulticastNakDelay
from aeron_core.testing.parts import NakDelayProbe

MAX_NS = 10_000_000
COUNT = 20_000


def draw(group_size=10, max_backoff_ns=MAX_NS, seed=1, *, count=COUNT, is_retry=False):
    probe = NakDelayProbe(MulticastNakDelay(group_size, max_backoff_ns, seed))
    return [probe.delay_ns(is_retry=is_retry) for _ in range(count)]


@pytest.mark.parametrize("group_size", [1, 2, 10, 1000, 2**31 - 1])
def test_no_delay_is_negative_or_above_the_maximum(group_size):
    waits = draw(group_size)

    assert 0 <= min(waits)
    assert max(waits) <= MAX_NS
    assert max(waits) > 0.9 * MAX_NS


@pytest.mark.parametrize("group_size", [2, 10, 1000])
def test_delays_have_the_distribution_of_the_rfc(group_size):
    growth = math.log(group_size) + 1
    waits = sorted(draw(group_size))

    for share in (0.1, 0.5, 0.9):
        expected = MAX_NS / growth * math.log(1 + share * (math.exp(growth) - 1))
        assert waits[int(share * COUNT)] == pytest.approx(expected, rel=0.05)


def test_a_larger_group_has_longer_delays():
    means = [sum(draw(group_size)) / COUNT for group_size in (1, 10, 100)]

    assert means == sorted(means)


def test_a_seed_repeats_its_delays_and_another_seed_differs():
    assert draw(seed=5, count=10) == draw(seed=5, count=10)
    assert draw(seed=5, count=10) != draw(seed=6, count=10)


def test_a_retry_has_the_distribution_of_the_first_request():
    assert draw(count=10, is_retry=True) == draw(count=10, is_retry=False)


def test_a_maximum_of_zero_gives_no_delay():
    assert draw(max_backoff_ns=0, count=10) == [0] * 10
