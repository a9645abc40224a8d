import pytest

from aeron_core.agent.duty_cycle import DutyCycleTracker
from aeron_core.testing import make_counters

MS = 1_000_000


@pytest.fixture
def counters():
    return make_counters("longest", "exceeded")


@pytest.fixture
def tracker(counters):
    return DutyCycleTracker(counters["longest"], counters["exceeded"], 100 * MS)


def test_the_first_cycle_has_no_length(tracker, counters):
    tracker.measure_and_update(10_000 * MS)

    assert counters["longest"].get() == 0


def test_the_longest_time_between_cycles_is_recorded(tracker, counters):
    for now_ms in (10, 15, 45, 46):
        tracker.measure_and_update(now_ms * MS)

    assert counters["longest"].get() == 30 * MS
    assert counters["exceeded"].get() == 0


@pytest.mark.parametrize(("duration_ms", "exceeded"), [(99, 0), (100, 0), (101, 1)])
def test_a_time_beyond_the_threshold_is_counted(tracker, counters, duration_ms, exceeded):
    tracker.measure_and_update(MS)
    tracker.measure_and_update((1 + duration_ms) * MS)

    assert counters["exceeded"].get() == exceeded
