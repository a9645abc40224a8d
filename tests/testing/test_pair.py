"""The rounds of a simulation."""

from aeron_core.testing import DriverUnderTest
from aeron_core.testing.pair import MS, S


def rounds_of_a_wait(simulation: DriverUnderTest, duration_ns: int) -> int:
    """Return the number of rounds until some time has passed."""
    times: list[int] = []
    simulation.run_until(lambda: times.append(simulation.now_ns) or times[-1] - times[0] >= duration_ns)
    return len(times) - 1


def test_a_long_wait_takes_few_rounds_while_nothing_happens(tmp_path):
    with DriverUnderTest(tmp_path) as lone:
        fine = rounds_of_a_wait(lone, 5 * S)
        lone.long_idle_step_ns = 20 * MS
        coarse, short = rounds_of_a_wait(lone, 5 * S), rounds_of_a_wait(lone, 90 * MS)

        assert (fine > 4000, coarse < fine / 5, short >= 80) == (True, True, True), (fine, coarse, short)
        assert lone.idle_step_ns == 1 * MS
