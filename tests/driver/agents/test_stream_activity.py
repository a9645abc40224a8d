"""Turns of quiet streams: how many are checked in a duty cycle."""

import pytest

from aeron_core.driver.agents.stream_activity import TURN_NS, StreamTurns

US = 1_000
NOW_NS = 1_000_000_000


@pytest.fixture
def turns():
    turns = StreamTurns()
    turns.begin(0, NOW_NS)
    return turns


def test_few_streams_are_all_checked_in_each_duty_cycle(turns):
    assert [turns.begin(count, NOW_NS + 1) for count in (0, 1, 16)] == [0, 1, 16]


def test_a_short_duty_cycle_checks_a_small_part_of_many_streams(turns):
    assert turns.begin(10_000, NOW_NS + 10 * US) == 101


def test_a_very_short_duty_cycle_checks_some_streams(turns):
    assert turns.begin(10_000, NOW_NS + 100) == 16


@pytest.mark.parametrize("elapsed_ns", [TURN_NS, 60_000 * TURN_NS])
def test_a_duty_cycle_after_a_whole_turn_checks_all_streams(turns, elapsed_ns):
    assert turns.begin(10_000, NOW_NS + elapsed_ns) == 10_000


@pytest.mark.parametrize("cycle_ns", [1_000, 30_000, 400_000])
def test_all_streams_are_checked_once_in_a_turn(turns, cycle_ns):
    times = range(NOW_NS + cycle_ns, NOW_NS + TURN_NS + cycle_ns, cycle_ns)

    assert sum(turns.begin(5000, now_ns) for now_ns in times) >= 5000
