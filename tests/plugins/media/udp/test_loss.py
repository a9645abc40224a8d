import pytest
from aeron_media.udp.loss import LossGenerator

from aeron_core.spi.media import LossRates


def drops(rate, seed, count=1000):
    generator = LossGenerator(LossRates(rate, seed))
    return [generator.should_drop() for _ in range(count)]


def test_a_seed_repeats_its_losses():
    assert drops(0.5, 7) == drops(0.5, 7)


def test_neighbouring_seeds_lose_different_datagrams():
    assert drops(0.5, 1)[:64] != drops(0.5, 2)[:64]


@pytest.mark.parametrize("seed", [0, -1])
def test_no_seed_is_a_random_one(seed):
    assert drops(0.5, seed) != drops(0.5, seed)


@pytest.mark.parametrize("seed", [1, -2, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_the_share_of_losses_is_the_rate(rate, seed):
    assert abs(sum(drops(rate, seed, 20_000)) / 20_000 - rate) < 0.015


@pytest.mark.parametrize(("rate", "lost"), [(0.0, 0), (1.0, 1000)])
def test_none_and_all_are_exact(rate, lost):
    assert sum(drops(rate, 1)) == lost
