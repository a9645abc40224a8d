"""Ints that are written again where nobody kept them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native.integers import ReusedInt

EDGES = [-(2**63), -1, 0, 1, 256, 4095, 4096, 2**30 - 1, 2**30, 2**60 - 1, 2**60, 2**63 - 1]


@pytest.mark.parametrize("value", EDGES)
def test_an_int_is_the_value_that_was_asked_for(value):
    made = ReusedInt()(value)

    assert made == value
    assert (repr(made), hash(made), made + 1) == (repr(value), hash(value), value + 1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_what_was_kept_stays_as_it_was(values):
    make = ReusedInt()
    assert [make(value) for value in values] == values


def test_what_nobody_kept_is_written_again():
    make = ReusedInt()
    # Not within an assert, which keeps what it looks at.
    addresses = {id(make(2**40)), id(make(2**40 + 32)), id(make(5000)), id(make(2**62))}
    assert len(addresses) == 1


def test_one_that_is_a_key_of_a_dictionary_is_not_written_again():
    make = ReusedInt()
    positions = {make(2**40): "first"}
    assert make(2**41) == 2**41
    assert positions[2**40] == "first"


def test_one_that_outlives_its_maker_is_whole():
    assert str(ReusedInt()(2**61)) == "2305843009213693952"
