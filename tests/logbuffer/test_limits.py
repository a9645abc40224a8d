import pytest

from aeron_core.errors import ConfigurationError
from aeron_core.logbuffer.limits import (
    check_mtu_length,
    check_page_size,
    check_term_length,
    check_term_offset,
)


@pytest.mark.parametrize("length", [65536, 131072, 2**24, 2**30])
def test_powers_of_two_from_64_kib_to_1_gib_are_term_lengths(length):
    assert check_term_length(length) == length


@pytest.mark.parametrize("length", [-65536, 0, 32768, 65537, 98304, 2**31])
def test_the_error_for_an_invalid_term_length_has_the_value_and_the_range(length):
    with pytest.raises(ConfigurationError, match=f"term length={length}: .* 65536 to 1073741824"):
        check_term_length(length)


@pytest.mark.parametrize("size", [0, 2048, 4097, 2**31])
def test_invalid_page_sizes_are_rejected(size):
    with pytest.raises(ConfigurationError, match=f"page size={size}: .* 4096 to 1073741824"):
        check_page_size(size)


def test_page_size_of_a_huge_page_is_accepted():
    assert check_page_size(2**21) == 2**21


@pytest.mark.parametrize("length", [0, 32, 63, 1400, 65536])
def test_an_invalid_mtu_is_rejected(length):
    with pytest.raises(ConfigurationError, match=f"mtu={length}: .* 32 from 64 to 65504"):
        check_mtu_length(length)


@pytest.mark.parametrize("offset", [-32, 31, 65568])
def test_an_invalid_term_offset_is_rejected(offset):
    with pytest.raises(ConfigurationError, match=f"term offset={offset}: .* 0 to 65536"):
        check_term_offset(offset, 65536)


def test_allowed_lengths_are_returned():
    assert check_mtu_length(1408) == 1408
    assert check_term_offset(65536, 65536) == 65536
