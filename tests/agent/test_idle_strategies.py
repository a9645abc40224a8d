import threading
import time

import pytest

from aeron_core._native.commands import CommandRing
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.agent import plugin
from aeron_core.agent.idle_strategies import (
    BackoffIdleStrategy,
    NoOpIdleStrategy,
    SignalIdleStrategy,
    SleepIdleStrategy,
    SpinIdleStrategy,
    YieldIdleStrategy,
)
from aeron_core.errors import ConfigurationError
from aeron_core.spi.idle_strategy import IdleStrategyParams
from aeron_core.testing import IdleStrategyProbe

MS = 1_000_000
#: A busy machine can delay any single wait: the shortest of several is compared.
TRIES = 7


def time_of(strategy, work_count=0, times=1):
    """Return the duration of idling in seconds."""
    probe = IdleStrategyProbe(strategy)
    started = time.monotonic()
    for _ in range(times):
        probe.idle(work_count)
    return time.monotonic() - started


@pytest.mark.parametrize("strategy", [NoOpIdleStrategy(), SpinIdleStrategy(), YieldIdleStrategy()])
@pytest.mark.parametrize("work_count", [0, 1])
def test_an_eager_strategy_returns_at_once(strategy, work_count):
    assert time_of(strategy, work_count, times=100) < 1


def test_sleeping_takes_its_duration_if_there_was_no_work():
    strategy = SleepIdleStrategy(20 * MS)

    assert time_of(strategy) >= 0.02
    assert time_of(strategy, work_count=1, times=100) < 1


def test_backing_off_sleeps_for_increasing_times_up_to_its_limit():
    strategies = [BackoffIdleStrategy(2, 3, 40 * MS, 80 * MS) for _ in range(TRIES)]

    assert min(time_of(strategy, times=5) for strategy in strategies) < 0.04
    assert all(time_of(strategy) >= 0.04 for strategy in strategies)
    assert all(time_of(strategy) >= 0.08 for strategy in strategies)
    assert 0.08 <= min(time_of(strategy) for strategy in strategies) < 0.16


def test_work_resets_backing_off():
    strategies = [BackoffIdleStrategy(1, 0, 20 * MS, 20 * MS) for _ in range(TRIES)]
    for strategy in strategies:
        time_of(strategy, times=3)

    assert min(time_of(strategy, work_count=1) for strategy in strategies) < 0.02
    assert min(time_of(strategy) for strategy in strategies) < 0.02
    assert all(time_of(strategy) >= 0.02 for strategy in strategies)


def test_waiting_for_a_signal_ends_with_the_timeout():
    strategy = SignalIdleStrategy("/aeron-core-test-bound", 20 * MS)

    assert 0.02 <= time_of(strategy) < 5
    assert min(time_of(strategy, work_count=1) for _ in range(TRIES)) < 0.02
    strategy.close()


def test_a_post_from_elsewhere_ends_the_wait():
    strategy = SignalIdleStrategy("/aeron-core-test-post", 60_000 * MS)
    poster = threading.Timer(0.01, NamedSemaphore("/aeron-core-test-post").signal)
    poster.start()

    assert time_of(strategy) < 30

    poster.join()
    strategy.close()


def test_a_command_ends_the_wait_of_its_consumer():
    strategy, ring = SignalIdleStrategy("/aeron-core-test-ring", 60_000 * MS), CommandRing(2)
    ring.wake_with(strategy.semaphore)
    sender = threading.Timer(0.01, ring.send, [7])
    sender.start()

    assert time_of(strategy) < 30

    sender.join()
    strategy.close()


def test_a_wake_up_is_kept_for_the_next_wait():
    strategy = SignalIdleStrategy("/aeron-core-test-kept", 60_000 * MS)

    strategy.wake()

    assert time_of(strategy) < 30
    strategy.close()


def test_closing_a_signal_strategy_removes_the_name():
    SignalIdleStrategy("/aeron-core-test-closed", MS).close()

    with pytest.raises(OSError, match="/aeron-core-test-closed"):
        NamedSemaphore("/aeron-core-test-closed")


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    [
        ("noop", "", NoOpIdleStrategy),
        ("spin", "", SpinIdleStrategy),
        ("yield", "", YieldIdleStrategy),
        ("sleep-ns", "", SleepIdleStrategy),
        ("sleep-ns", "5us", SleepIdleStrategy),
        ("backoff", "", BackoffIdleStrategy),
        ("backoff", "1-2-3us-4ms", BackoffIdleStrategy),
    ],
)
def test_the_plugin_creates_strategies_from_the_settings(name, options, kind):
    factory = plugin.aeron_idle_strategies()[name]

    assert isinstance(factory(IdleStrategyParams("sender", options)), kind)


def test_the_plugin_creates_a_signal_that_other_processes_find_by_name():
    params = IdleStrategyParams("sender", "1ms", signal_name="/aeron-core-test-plugin")

    strategy = plugin.aeron_idle_strategies()["signal"](params)

    assert NamedSemaphore("/aeron-core-test-plugin").name == "/aeron-core-test-plugin"
    strategy.close()


@pytest.mark.parametrize(("name", "options"), [("backoff", "10-20"), ("sleep-ns", "often")])
def test_wrong_options_are_rejected(name, options):
    with pytest.raises(ConfigurationError, match=options):
        plugin.aeron_idle_strategies()[name](IdleStrategyParams("sender", options))
