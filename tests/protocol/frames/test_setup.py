import pytest

from aeron_core.protocol.frames import Setup

GOOD = {"term_length": 65536, "term_offset": 64, "mtu": 1408}


def test_a_setup_within_all_ranges_is_valid():
    assert Setup(**GOOD).is_valid()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("term_length", 0),
        ("term_length", -65536),
        ("term_length", -(2**31)),
        ("term_length", 32768),
        ("term_length", 65536 + 32),
        ("term_length", 2**30 + 2**29),
        ("term_offset", -32),
        ("term_offset", 65536),
        ("term_offset", 33),
        ("mtu", 0),
        ("mtu", -32),
        ("mtu", 1409),
        ("mtu", 65536),
    ],
)
def test_a_field_out_of_range_makes_a_setup_invalid(name, value):
    assert not Setup(**{**GOOD, name: value}).is_valid()


@pytest.mark.parametrize(
    ("name", "value"), [("term_length", 2**30), ("term_offset", 65504), ("mtu", 32), ("mtu", 65504)]
)
def test_the_ends_of_the_ranges_are_valid(name, value):
    assert Setup(**{**GOOD, name: value}).is_valid()
