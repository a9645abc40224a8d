"""Ages of heartbeats while the system clock is stepped."""

import pytest

from aeron_core.concurrent.heartbeat_age import HeartbeatAge

MS = 1_000_000
HOUR_MS = 3_600_000


@pytest.fixture
def age():
    found = HeartbeatAge()
    assert found.check(1_000, 1_002, 50 * MS) == 2
    return found


def test_the_first_heartbeat_is_as_old_as_the_system_clock_shows():
    assert HeartbeatAge().check(1_000, 1_000 + HOUR_MS, 0) == HOUR_MS


def test_a_heartbeat_of_the_future_is_new():
    assert HeartbeatAge().check(1_000 + HOUR_MS, 1_000, 0) == 0


def test_a_heartbeat_that_stays_ages_with_the_monotonic_clock(age):
    assert age.check(1_000, 1_002, 58 * MS) == 10


def test_a_heartbeat_that_changes_is_as_old_as_the_system_clock_shows(age):
    assert age.check(1_005, 1_008, 56 * MS) == 3
    assert age.check(1_005, 1_009, 57 * MS) == 4


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_a_step_of_the_clock_changes_no_age(age, step_ms):
    assert age.check(1_000, 1_008 + step_ms, 56 * MS) == 8


def test_a_heartbeat_that_changed_before_the_clock_was_stepped_is_not_older_than_the_last_check(age):
    assert age.check(1_005, 1_008 + HOUR_MS, 56 * MS) == 6


def test_a_process_that_closes_leaves_the_age_of_its_last_heartbeat(age):
    assert age.check(-1, 1_008, 56 * MS) == 8
    assert age.check(-1, 1_009, 57 * MS) == 9


def test_the_first_heartbeat_of_a_closed_process_is_as_old_as_the_epoch():
    assert HeartbeatAge().check(-1, HOUR_MS, 0) == HOUR_MS + 1
