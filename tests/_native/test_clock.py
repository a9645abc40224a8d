import time

import pytest

from aeron_core._native.clock import Clock


def test_the_default_clock_is_the_systems():
    clock = Clock()

    before = time.monotonic_ns(), time.time_ns()
    read = clock.nano_time(), clock.epoch_ns()
    after = time.monotonic_ns(), time.time_ns()

    assert before[0] <= read[0] <= after[0]
    assert before[1] <= read[1] <= after[1]
    assert not clock.is_manual


def test_a_manual_clock_stands_still():
    clock = Clock.manual(now_ns=5, epoch_ms=7)

    assert [clock.nano_time(), clock.nano_time()] == [5, 5]
    assert (clock.epoch_ms(), clock.epoch_ns()) == (7, 7_000_000)
    assert clock.is_manual


def test_advancing_moves_both_times():
    clock = Clock.manual(now_ns=5, epoch_ms=7)

    assert clock.advance(2_000_000) == 2_000_005

    assert (clock.nano_time(), clock.epoch_ms()) == (2_000_005, 9)


def test_a_manual_clock_cannot_be_moved_back():
    with pytest.raises(ValueError, match="delta_ns=-1: must be at least 0 ns"):
        Clock.manual().advance(-1)


def test_a_step_moves_the_wall_clock_only():
    clock = Clock.manual(now_ns=5, epoch_ms=7)

    assert clock.step(-2_000_000) == 5_000_000

    assert (clock.nano_time(), clock.epoch_ms()) == (5, 5)


@pytest.mark.parametrize("move", [Clock.advance, Clock.step])
def test_the_systems_clock_cannot_be_moved(move):
    with pytest.raises(TypeError, match=r"use Clock\.manual"):
        move(Clock(), 1)
