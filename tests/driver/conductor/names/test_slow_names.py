"""Slow lookups delay only the client that needs them."""

import threading

import pytest

from aeron_core import MediaDriver, connect
from aeron_core.driver.conductor.commands import command_handler
from aeron_core.driver.conductor.names.lookups import LookupThreads
from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.registry import Registry
from aeron_core.spi.hookspecs import hookimpl
from aeron_core.testing.pair import MS, S

NAMED = "aeron:udp?endpoint=far.away:20121"


class Names:
    """A plugin with a resolver for one name."""

    def __init__(self, before_answer=lambda: None):
        self.before_answer = before_answer

    def lookup(self, name, uri_key, is_re_lookup):
        return name

    def resolve(self, host, uri_key, is_re_resolution):
        self.before_answer()
        return "127.0.0.1" if host == "far.away" else None

    @hookimpl
    def aeron_name_resolvers(self):
        return {"names": lambda params: self}


@pytest.fixture
def names():
    return Names()


@pytest.fixture
def held(start_driver, names):
    """A driver that keeps lookups in a list until the test runs them."""
    lone = start_driver(plugins=[names], name_resolver="names")
    lone.lookups = []
    lone.start_lookup = lone.lookups.append
    return lone


def finish(lone):
    while lone.lookups:
        lone.lookups.pop(0)()


def test_a_name_is_resolved_when_its_lookup_ends(held):
    registration = held.client.add_publication_async(NAMED, 1001)
    held.run_for(3 * S)
    assert not registration.is_done

    finish(held)

    assert held.result(registration).channel == NAMED


def test_a_long_lookup_delays_neither_streams_nor_other_clients(held):
    subscription = held.add_subscription("aeron:udp?endpoint=127.0.0.1:20122", 1)
    publication = held.add_publication("aeron:udp?endpoint=127.0.0.1:20122", 1)
    held.run_until(lambda: publication.is_connected)
    slow = held.client.add_publication_async(NAMED, 1001)
    received = []
    other = held.driver.connect()
    times_ns = []
    offers_ns = [0]

    def offer_and_poll():
        # One message in each idle round, a millisecond of simulated time.
        if held.now_ns >= offers_ns[-1] + MS:
            publication.offer(b"x")
            offers_ns.append(held.now_ns)
        subscription.poll(lambda buffer, header: received.append(bytes(buffer)), 10)

    for number in range(5):
        held.run_for(1 * S, offer_and_poll)
        start_ns = held.now_ns
        held.result(other.add_publication_async("aeron:ipc", number))
        times_ns.append(held.now_ns - start_ns)

    assert not slow.is_done
    assert len(received) > 4000
    assert max(times_ns) < 50 * MS
    finish(held)
    held.result(slow)


def test_commands_of_one_client_are_answered_in_order(held):
    first = held.client.add_publication_async(NAMED, 1001)
    second = held.client.add_publication_async("aeron:ipc", 1)
    third = held.client.add_subscription_async(NAMED, 1001)
    held.run_for(1 * S)
    assert not any(registration.is_done for registration in (first, second, third))

    finish(held)
    held.run_for(10 * MS)

    assert [r.is_done for r in (first, second, third)] == [True, True, False]
    finish(held)
    held.result(third)


def test_an_unknown_name_is_refused_and_queued_commands_continue(held):
    unknown = held.client.add_publication_async("aeron:udp?endpoint=no.where:20121", 1001)
    behind = held.client.add_publication_async("aeron:ipc", 1)
    held.run_for(10 * MS)

    finish(held)
    held.result(behind)

    with pytest.raises(RegistrationError, match=r"no\.where") as raised:
        unknown.poll()
    assert raised.value.code is ErrorCode.UNKNOWN_HOST


def test_unfinished_commands_of_a_removed_client_are_dropped(held):
    other = held.driver.connect()
    other.add_publication_async(NAMED, 1001)
    other.add_publication_async("aeron:ipc", 1)
    held.run_for(10 * MS)

    other.close()
    held.driver.abandon(other)
    held.run_for(3 * S)
    finish(held)
    held.run_for(1 * S)

    assert held.driver.log_files() == []
    assert held.driver.find_counters("client-heartbeat") == []


def test_commands_beyond_the_limit_of_queued_ones_are_refused(held, monkeypatch):
    monkeypatch.setattr(command_handler, "MAX_WAITING", 5)
    held.client.add_publication_async(NAMED, 1001)
    *queued, beyond = (held.client.add_counter_async(1000, b"", f"counter {number}") for number in range(6))

    held.run_for(10 * MS)

    with pytest.raises(RegistrationError, match="5 commands wait for names") as raised:
        beyond.poll()
    assert raised.value.code is ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE
    assert held.driver.errors() == []
    finish(held)
    assert all(held.result(registration) for registration in queued)


def test_a_client_with_many_queued_commands_delays_neither_others_nor_the_end_of_the_driver(
    start_driver, names, monkeypatch
):
    monkeypatch.setattr(command_handler, "MAX_WAITING", 5)
    held = start_driver(plugins=[names], name_resolver="names", termination_validator="allow")
    held.start_lookup = [].append
    held.client.add_publication_async(NAMED, 1001)
    for number in range(20):
        held.client.add_counter_async(1000, b"", f"counter {number}")
    other = held.driver.connect()

    held.result(other.add_publication_async("aeron:ipc", 1))
    held.client.terminate_driver()
    held.run_for(1 * MS)

    assert held.driver.media_driver.await_termination(0)


def test_the_duration_of_a_lookup_is_measured(held, names):
    names.before_answer = lambda: held.clock.advance(7 * S)
    held.client.add_publication_async(NAMED, 1001)
    held.run_for(10 * MS)

    finish(held)

    assert held.driver.counted("name_resolver_max_time") == 7 * S
    assert held.driver.counted("name_resolver_time_threshold_exceeded") == 1


def test_concurrent_lookups_are_limited():
    threads = LookupThreads(limit=2)
    may_end = threading.Event()
    ended = threading.Semaphore(0)
    running = []

    def lookup():
        running.append(threading.get_ident())
        may_end.wait(60)
        ended.release()

    for _ in range(5):
        threads(lookup)
    assert len(set(running)) <= 2

    may_end.set()

    for _ in range(5):
        assert ended.acquire(timeout=60)
    assert len(set(running)) <= 2


def test_a_running_driver_responds_while_a_resolver_blocks():
    is_requested, may_answer = threading.Event(), threading.Event()

    def block():
        is_requested.set()
        may_answer.wait(60)

    with (
        MediaDriver.launch_embedded(
            {"name_resolver": "names"}, registry=Registry.load([Names(block)])
        ) as driver,
        connect(driver.aeron_dir) as asking,
        connect(driver.aeron_dir) as other,
    ):
        registration = asking.add_publication_async(NAMED, 1001)
        assert is_requested.wait(60)

        other.add_publication("aeron:ipc", 1)

        assert not registration.is_done
        may_answer.set()
