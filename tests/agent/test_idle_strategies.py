import os
import threading
import time

import pytest

from aeron_core._native.commands import CommandRing
from aeron_core._native.semaphore import NamedSemaphore
from aeron_core.agent import plugin
from aeron_core.agent.agent import PythonAgent
from aeron_core.agent.idle_strategies import (
    BackoffIdleStrategy,
    NoOpIdleStrategy,
    SignalIdleStrategy,
    SleepIdleStrategy,
    SpinIdleStrategy,
    YieldIdleStrategy,
)
from aeron_core.concurrent.wake_up import Bells, DriverBells
from aeron_core.errors import ConfigurationError
from aeron_core.file_access import PRIVATE
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
    assert min(time_of(strategy, work_count) for _ in range(100)) < 0.01


def test_sleeping_takes_its_duration_if_there_was_no_work():
    strategy = SleepIdleStrategy(20 * MS)

    assert time_of(strategy) >= 0.02
    assert min(time_of(strategy, work_count=1) for _ in range(TRIES)) < 0.02


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


class Sleeper:
    """A strategy with a bell, and the same bell as a client finds it."""

    def __init__(self, folder, strategy, **attached):
        self.bell = Bells(folder, PRIVATE).add(["sender"])
        self.strategy = strategy
        self.client_bell = DriverBells(folder, 1).of("sender")
        if isinstance(strategy, BackoffIdleStrategy):
            strategy.attach(attached["agent"], self.bell, attached["rest_ns"])
        else:
            strategy.attach(attached["agent"], self.bell)
        # The first cycle without work arms the bell and looks once more, the next one waits for a millisecond.
        assert time_of(strategy, times=2) < 30


class Resting:
    role_name = "resting"

    def do_work(self):
        return 0


@pytest.fixture(params=["backoff", "signal"])
def sleeper(request, tmp_path):
    minute = 60_000 * MS
    if request.param == "backoff":
        strategy = BackoffIdleStrategy(0, 0, minute, minute)
    else:
        strategy = SignalIdleStrategy("/aeron-core-test-bell", minute)
    yield Sleeper(tmp_path, strategy, agent=PythonAgent(Resting()), rest_ns=0)
    strategy.close()


def test_a_ring_of_a_client_ends_the_sleep(sleeper):
    ringer = threading.Timer(0.01, sleeper.client_bell.signal)
    ringer.start()

    assert time_of(sleeper.strategy) < 30

    ringer.join()


def test_a_ring_before_the_sleep_is_kept_for_it(sleeper):
    sleeper.client_bell.signal()

    # Disarmed by the ring: armed again, then the byte in the pipe ends the sleep.
    assert time_of(sleeper.strategy, times=2) < 30


def test_a_command_ends_a_sleep_with_a_bell(sleeper):
    ring = CommandRing(2)
    ring.wake_with(bell=sleeper.bell)
    sender = threading.Timer(0.01, ring.send, [7])
    sender.start()

    assert time_of(sleeper.strategy) < 30

    sender.join()


def test_closing_an_agent_ends_its_sleep(sleeper):
    sleeper.strategy.wake()

    assert time_of(sleeper.strategy) < 30


def test_a_readable_descriptor_ends_a_sleep_but_only_once_until_there_was_work(tmp_path):
    strategy = BackoffIdleStrategy(0, 0, 40 * MS, 40 * MS)
    sleeper = Sleeper(tmp_path, strategy, agent=PythonAgent(Resting(), can_rest=True), rest_ns=16_000 * MS)
    reads, writes = os.pipe()
    os.write(writes, b"data")
    assert sleeper.bell.watch(reads)

    # Each first sleep ends at once, each second one does not watch the descriptor, and is short: what arrives meanwhile
    # would wait for it.
    times_s = [(time_of(strategy), time_of(strategy)) for _ in range(TRIES)]
    assert min(first_s for first_s, _ in times_s) < 0.001
    assert all(0.001 <= second_s < 10 for _, second_s in times_s)

    os.close(reads)
    os.close(writes)


def test_a_descriptor_is_watched_after_a_ring_that_brought_no_work(sleeper):
    reads, writes = os.pipe()
    assert sleeper.bell.watch(reads)
    sleeper.strategy.wake()  # for a command that the last duty cycle has executed already
    assert time_of(sleeper.strategy) < 30

    os.write(writes, b"data")
    assert time_of(sleeper.strategy) < 30

    os.close(reads)
    os.close(writes)


@pytest.mark.parametrize(("can_rest", "expected_s"), [(False, 0.001), (True, 0.08)])
def test_sleeps_take_longer_while_the_agent_rests(tmp_path, can_rest, expected_s):
    strategy = BackoffIdleStrategy(0, 0, MS, MS)
    Sleeper(tmp_path, strategy, agent=PythonAgent(Resting(), can_rest=can_rest), rest_ns=80 * MS)

    shortest_s = min(time_of(strategy) for _ in range(TRIES))

    assert expected_s <= shortest_s < expected_s + 0.07


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
