"""Random numbers of a driver's ids."""

import random

import pytest

from aeron_core.driver.random_bits import random_bits, system_bits, use_random_bits


@pytest.mark.parametrize("count", [1, 7, 8, 31, 32, 63, 64])
def test_numbers_have_at_most_their_bits_and_use_all_of_them(count):
    numbers = [random_bits(count) for _ in range(1000)]

    assert min(numbers) >= 0
    assert max(number.bit_length() for number in numbers) == count


def test_numbers_repeat_with_a_seed_until_the_source_is_that_of_the_system_again():
    def draw():
        use_random_bits(random.Random(7).getrandbits)
        return [random_bits(32) for _ in range(4)]

    try:
        assert draw() == draw()
    finally:
        use_random_bits(system_bits)

    assert random_bits(64) != random_bits(64)
