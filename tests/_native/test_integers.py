"""Int objects that are overwritten unless they are still referenced."""

import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aeron_core
from aeron_core._native.integers import ReusedInt

# Values around the boundaries of digits, and in the middle of the last digit.
DIGITS = [2**bits + step for bits in (30, 60, 62) for step in (-1, 0, 1)]
EDGES = [-(2**63), -1, 0, 1, 256, 4095, 4096, *DIGITS, 2**63 - 1]
NEWEST_TESTED = (3, 14)


@pytest.mark.parametrize("value", EDGES)
def test_a_reused_int_has_the_requested_value(value):
    made = ReusedInt()(value)

    assert made == value
    assert (repr(made), hash(made), made + 1) == (repr(value), hash(value), value + 1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_an_int_that_is_still_referenced_does_not_change(values):
    make = ReusedInt()
    assert [make(value) for value in values] == values


@pytest.mark.parametrize("after", EDGES)
@pytest.mark.parametrize("value", DIGITS)
def test_a_referenced_int_does_not_change_whatever_the_next_value(value, after):
    make = ReusedInt()
    kept = make(value)
    make(after)
    again = make(after)

    assert (kept, again) == (value, after)
    assert (hash(kept), kept.bit_length(), kept.to_bytes(8, "little")) == (
        hash(value),
        value.bit_length(),
        value.to_bytes(8, "little"),
    )


@pytest.mark.parametrize("value", DIGITS)
def test_an_overwritten_int_has_the_normal_number_of_digits(value):
    make = ReusedInt()
    for before in EDGES:
        make(before)

        made = make(value)

        assert (made, made - value, made >> 30, made.bit_length()) == (
            value,
            0,
            value >> 30,
            value.bit_length(),
        )
        del made


@pytest.mark.skipif(sys.version_info[:2] > NEWEST_TESTED, reason="made anew each time")
def test_an_unreferenced_int_is_overwritten():
    make = ReusedInt()
    # Not within an assert: pytest keeps references to the operands.
    addresses = {id(make(2**40)), id(make(2**40 + 32)), id(make(5000)), id(make(2**62))}
    assert len(addresses) == 1


def test_an_int_that_is_a_dictionary_key_is_not_overwritten():
    make = ReusedInt()
    positions = {make(2**40): "first"}
    assert make(2**41) == 2**41
    assert positions[2**40] == "first"


def test_an_int_that_outlives_its_factory_is_valid():
    assert str(ReusedInt()(2**61)) == "2305843009213693952"


@pytest.mark.system
@pytest.mark.parametrize(("minor", "is_reused"), [(11, True), (14, True), (15, False), (16, False)])
def test_a_python_newer_than_those_tested_creates_a_new_int_each_time(tmp_path, minor, is_reused):
    source = tmp_path / "ints.c"
    source.write_text(
        f"#include <Python.h>\n#undef PY_VERSION_HEX\n#define PY_VERSION_HEX {(3 << 24) | (minor << 16)}\n"
        '#include "integers.h"\n',
        encoding="utf-8",
    )
    headers = Path(aeron_core.get_include(), "aeron_core", "_native")

    done = subprocess.run(
        [
            *shlex.split(sysconfig.get_config_var("CC")),
            *("-E", "-I", headers, "-I", sysconfig.get_path("include"), source),
        ],
        check=True,
        capture_output=True,
        text=True,
    )

    body = done.stdout[done.stdout.index("ac_reuse_int") :]
    assert ("ob_digit" in body) == is_reused
