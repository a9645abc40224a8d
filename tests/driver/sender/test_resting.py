"""Long sleeps of the sender: only while no stream needs it."""

import time

import pytest

from aeron_core.agent.idle_strategies import BackoffIdleStrategy
from aeron_core.concurrent.wake_up import Bells
from aeron_core.file_access import PRIVATE
from aeron_core.testing import IdleStrategyProbe
from aeron_core.testing.pair import MS

REST_S = 0.08
#: A busy machine can delay any single sleep: the shortest of several is compared.
TRIES = 5


def shortest_sleep_s(driver, folder):
    """Return the duration of a sleep of a sender with nothing to do: a millisecond, or REST_S if it may rest."""
    strategy = BackoffIdleStrategy(0, 0, MS, MS)
    bell = Bells(folder, PRIVATE).add(["sender"])
    strategy.attach(driver.media_driver._assembly.sender, bell, int(REST_S * 1e9))
    probe = IdleStrategyProbe(strategy)
    probe.idle(0)  # arms the bell
    probe.idle(0)  # waits for a millisecond
    durations_s = []
    for _ in range(TRIES):
        started_s = time.monotonic()
        probe.idle(0)
        durations_s.append(time.monotonic() - started_s)
    return min(durations_s)


def is_resting(lone, folder, *, rings, term_length):
    """Return whether the sender of an IPC stream rests whose subscriber has read everything."""
    channel = f"aeron:ipc?term-length={term_length}"
    subscription = lone.add_subscription(channel, 1)
    publication = lone.add_publication(channel, 1)
    lone.run_until(lambda: publication.is_connected and publication.available_window)
    # No client of a simulation rings.
    (lifecycle,) = lone.drivers[0].media_driver._assembly.conductor.registrars.ipc.lifecycles
    lifecycle._publication.is_rung.set_release(rings)
    assert publication.offer(bytes(1000)) > 0
    lone.run_for(20 * MS)
    lone.run_until(subscription.poll_many)
    lone.run_for(20 * MS)
    return shortest_sleep_s(lone.drivers[0], folder) >= REST_S


@pytest.mark.parametrize(
    ("rings", "term_length", "rests"),
    [(1, "64k", True), (0, "64k", False), (0, "64m", True)],
    ids=["rings", "short-window", "long-window"],
)
def test_publishers_of_shared_memory_that_do_not_ring_need_a_window_for_a_long_sleep(
    lone, tmp_path, rings, term_length, rests
):
    assert is_resting(lone, tmp_path, rings=rings, term_length=term_length) is rests


def test_a_client_that_does_not_ring_is_noted_at_its_publication(lone):
    lone.add_publication("aeron:ipc", 1)

    (lifecycle,) = lone.drivers[0].media_driver._assembly.conductor.registrars.ipc.lifecycles
    assert lifecycle._publication.is_rung.get_acquire() == 0
