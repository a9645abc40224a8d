"""The clock of a recorder."""

from aeron_core.recording.writing.recorder import EpochClock

HOUR_NS = 3600 * 10**9


class Times:
    def __init__(self):
        self.wall_ns = 100 * HOUR_NS
        self.steady_ns = 0
        self.clock = EpochClock(lambda: self.wall_ns, lambda: self.steady_ns)

    def pass_ns(self, duration_ns):
        self.wall_ns += duration_ns
        self.steady_ns += duration_ns
        return self.clock()


def test_the_clock_returns_the_system_time():
    assert Times().pass_ns(5) == 100 * HOUR_NS + 5


def test_the_clock_continues_when_the_system_clock_is_set_back():
    times = Times()
    times.wall_ns -= HOUR_NS

    assert [times.pass_ns(5), times.pass_ns(5)] == [100 * HOUR_NS + 5, 100 * HOUR_NS + 10]


def test_the_clock_follows_the_system_clock_forward():
    times = Times()
    times.wall_ns += HOUR_NS

    assert times.pass_ns(5) == 101 * HOUR_NS + 5


def test_the_clock_returns_the_system_time_again_once_that_has_caught_up():
    times = Times()
    times.wall_ns -= HOUR_NS
    times.pass_ns(5)
    times.wall_ns += 2 * HOUR_NS

    assert times.pass_ns(5) == times.wall_ns
