"""Real threads, sockets and clocks: in each threading mode the driver carries streams and closes."""

import os
import threading
import time

import pytest

from aeron_core import connect
from aeron_core.concurrent.error_log import read_errors
from aeron_core.driver._native import operations
from aeron_core.driver.media_driver import MediaDriver
from aeron_core.protocol.cnc import CNC_FILE, CncFile
from aeron_core.settings import ThreadingMode
from aeron_core.settings.models import ClientSettings
from aeron_core.testing import Feed, Sink, make_messages

ROLES = ("conductor", "sender", "receiver", "sharednetwork", "shared")
THREADS = {"INVOKER": 0, "SHARED": 1, "SHARED_NETWORK": 2, "DEDICATED": 3}
IDLE_STRATEGIES = ["noop", "spin", "yield", "sleep-ns", "backoff", "signal"]
TIMEOUT_S = 60


class Running:
    """A driver with threads, and a client that the test steps."""

    def __init__(self, directory, mode, idle_strategy):
        self.threads_before = threading.active_count()
        settings = {f"{role}_idle_strategy": idle_strategy for role in ROLES}
        self.driver = MediaDriver.launch(
            {
                "aeron_dir": directory / "aeron",
                "threading_mode": mode,
                "term_buffer_length": "64k",
                "ipc_term_buffer_length": "64k",
                "counters_buffer_length": "1m",
                "perform_storage_checks": False,
                **settings,
            }
        )
        self._is_invoked = mode == "INVOKER"
        self.client = connect(
            settings=ClientSettings(aeron_dir=self.driver.aeron_dir, use_conductor_agent_invoker=True)
        )

    def until(self, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < deadline, f"did not happen within {TIMEOUT_S} s"
            self.client.do_work()
            if self._is_invoked:
                self.driver.do_work()
            os.sched_yield()

    def result(self, registration):
        self.until(lambda: registration.is_done)
        return registration.poll()

    def carries(self, channel, messages):
        """Offer messages on a channel and return those that arrive."""
        subscription = self.result(self.client.add_subscription_async(channel, 1001))
        self.until(subscription.resolved_channel)
        publication = self.result(self.client.add_publication_async(subscription.resolved_channel(), 1001))
        self.until(lambda: publication.is_connected and subscription.is_connected)
        feed, sink = Feed(publication, messages), Sink(subscription)
        self.until(lambda: (feed.offer(), sink.poll(), len(sink.all) == len(messages))[-1])
        return sink.all


@pytest.mark.parametrize("idle_strategy", IDLE_STRATEGIES)
@pytest.mark.parametrize("mode", [mode.name for mode in ThreadingMode])
def test_a_driver_starts_carries_streams_and_closes(tmp_path, mode, idle_strategy):
    running = Running(tmp_path, mode, idle_strategy)
    messages = make_messages(200, seed=3, max_length=3000)

    assert threading.active_count() - running.threads_before == THREADS[mode]
    assert running.carries("aeron:ipc", messages) == messages
    assert running.carries("aeron:udp?endpoint=127.0.0.1:0", messages) == messages

    running.client.close()
    running.driver.close()
    assert threading.active_count() == running.threads_before
    assert not list(running.driver.aeron_dir.glob("*/*.logbuffer"))
    assert list(read_errors(CncFile.open(running.driver.aeron_dir / CNC_FILE).error_log)) == []


def test_a_driver_with_more_channels_than_it_polls_in_turn_carries_all_of_them(tmp_path):
    running = Running(tmp_path, "INVOKER", "noop")
    count = operations.POLL_ALL_LIMIT + 3
    messages = make_messages(20, seed=3, max_length=3000)
    subscriptions = [
        running.result(running.client.add_subscription_async("aeron:udp?endpoint=127.0.0.1:0", 1001))
        for _ in range(count)
    ]
    running.until(lambda: all(subscription.resolved_channel() for subscription in subscriptions))
    publications = [
        running.result(running.client.add_publication_async(subscription.resolved_channel(), 1001))
        for subscription in subscriptions
    ]
    running.until(lambda: all(each.is_connected for each in (*subscriptions, *publications)))
    # A removed channel must not be polled any more, and the others must.
    subscriptions.pop(0).close()
    publications.pop(0).close()

    feeds = [Feed(publication, messages) for publication in publications]
    sinks = [Sink(subscription) for subscription in subscriptions]

    def has_arrived():
        for each in feeds:
            each.offer()
        for each in sinks:
            each.poll()
        return all(len(sink.all) == len(messages) for sink in sinks)

    running.until(has_arrived)

    assert [sink.all for sink in sinks] == [messages] * (count - 1)
    running.client.close()
    running.driver.close()


@pytest.mark.parametrize("mode", [mode.name for mode in ThreadingMode])
def test_a_driver_may_be_closed_twice_and_with_connected_clients(tmp_path, mode):
    running = Running(tmp_path, mode, "backoff")
    running.result(running.client.add_publication_async("aeron:ipc", 1001))

    running.driver.close()
    running.driver.close()

    assert running.driver.is_closed
    assert not list(running.driver.aeron_dir.glob("*/*.logbuffer"))
    running.client.close()
