"""Exhausted counters or space: the command is refused, nothing is left behind, and the driver continues."""

import os
from collections import Counter as Multiset

import pytest
from refusals import refusal

from aeron_core._native import wire
from aeron_core.errors import ErrorCode
from aeron_core.protocol import commands
from aeron_core.testing import DriverUnderTest, Feed, Sink
from aeron_core.testing.pair import MS, S

IPC = "aeron:ipc"
UDP = "aeron:udp?endpoint=127.0.0.1:20121"


class Crowd:
    """Allocates the counters that a test must not get."""

    def __init__(self, simulation):
        self._simulation = simulation
        self._counters = []

    def leave(self, left):
        client = self._simulation.client
        while (count := free_counters(self._simulation) - left) > 0:
            registrations = [client.add_counter_async(1, b"", "taken") for _ in range(min(count, 100))]
            self._counters += [self._simulation.result(registration) for registration in registrations]

    def release(self):
        for counter in self._counters:
            counter.close()
        self._counters.clear()


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A driver with few free counters."""
    with DriverUnderTest(tmp_path_factory.mktemp("driver")) as driver:
        driver.idle_step_ns = 10 * MS
        Crowd(driver).leave(20)
        yield driver


@pytest.fixture
def crowd(crowded):
    crowded.run_for(2 * S)
    before = state(crowded)
    crowd = Crowd(crowded)
    yield crowd
    crowd.release()
    crowded.run_for(30 * S)
    assert state(crowded) == before


def counters_by_type(simulation):
    counters = simulation.driver.counters
    return Multiset(
        counters.type_id(counter_id)
        for counter_id in range(counters.max_counter_id + 1)
        if counters.state(counter_id) == wire.COUNTER_STATE_ALLOCATED
    )


def free_counters(simulation):
    return simulation.driver.counters.max_counter_id + 1 - counters_by_type(simulation).total()


def state(simulation):
    driver = simulation.driver
    return counters_by_type(simulation), driver.log_files(), driver.counted("bytes_currently_mapped")


@pytest.mark.parametrize(
    ("channel", "left"), [(IPC, 0), (IPC, 1), *((UDP, left) for left in range(8))], ids=str
)
def test_a_publication_without_free_counters_leaves_nothing_behind(crowded, crowd, channel, left):
    crowd.leave(left)
    before = state(crowded)

    error = refusal(crowded, crowded.client.add_publication_async(channel, 1))
    crowded.run_for(2 * S)

    assert "no counter left" in str(error)
    assert state(crowded) == before
    crowd.release()
    crowded.run_for(2 * S)
    crowded.add_publication(channel, 1).close()


@pytest.mark.parametrize("left", [0, 1])
def test_a_subscription_without_free_counters_leaves_nothing_behind(crowded, crowd, left):
    crowd.leave(left)
    before = state(crowded)

    error = refusal(crowded, crowded.client.add_subscription_async(UDP, 1))
    crowded.run_for(2 * S)

    assert "no counter left" in str(error)
    assert state(crowded) == before
    crowd.release()
    crowded.run_for(2 * S)
    crowded.add_subscription(UDP, 1).close()


@pytest.mark.parametrize("left", [2, 3])
def test_a_publication_is_refused_if_its_subscribers_get_no_counter(crowded, crowd, left):
    subscriptions = [crowded.add_subscription(IPC, 1) for _ in range(2)]
    crowd.leave(left)
    before = state(crowded)

    refusal(crowded, crowded.client.add_publication_async(IPC, 1))
    crowded.run_for(2 * S)

    assert state(crowded) == before
    assert not any(subscription.is_connected for subscription in subscriptions)
    crowd.release()
    crowded.run_for(2 * S)
    publication = crowded.add_publication(IPC, 1)
    crowded.run_until(lambda: all(subscription.is_connected for subscription in subscriptions))
    for resource in (publication, *subscriptions):
        resource.close()


@pytest.mark.parametrize("left", [6, 7])
def test_a_publication_is_refused_if_its_spies_get_no_counter(crowded, crowd, left):
    spies = [crowded.add_subscription("aeron-spy:" + UDP, 1) for _ in range(2)]
    crowd.leave(left)
    before = state(crowded)

    refusal(crowded, crowded.client.add_publication_async(UDP, 1))
    crowded.run_for(2 * S)

    assert state(crowded) == before
    crowd.release()
    crowded.run_for(2 * S)
    publication = crowded.add_publication(UDP, 1)
    crowded.run_until(lambda: all(spy.is_connected for spy in spies))
    for resource in (publication, *spies):
        resource.close()


def test_a_destination_without_a_free_counter_leaves_nothing_behind(crowded, crowd):
    subscription = crowded.add_subscription("aeron:udp?control-mode=manual", 1)
    crowd.leave(0)
    before = state(crowded)

    error = refusal(crowded, subscription.add_destination_async(UDP))
    crowded.run_for(2 * S)

    assert "no counter left" in str(error)
    assert state(crowded) == before
    crowd.release()
    crowded.run_for(2 * S)
    crowded.result(subscription.add_destination_async(UDP))
    subscription.close()


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_subscription_is_refused_if_it_gets_no_counter_for_a_publication(crowded, crowd, channel):
    publication, first = crowded.add_publication(channel, 1), crowded.add_subscription(channel, 1)
    crowded.run_until(lambda: publication.is_connected and first.is_connected)
    crowd.leave(0)

    error = refusal(crowded, crowded.client.add_subscription_async(channel, 1))
    crowded.run_for(2 * S)

    assert "no counter left for 'sub-pos" in str(error)
    sink = Sink(first)
    publication.offer(b"for the first alone")
    crowded.run_until(sink.poll)
    assert sink.all == [b"for the first alone"]
    for resource in (publication, first):
        resource.close()


@pytest.mark.parametrize("left", range(2, 7))
def test_an_image_without_free_counters_is_created_later(crowded, crowd, left):
    publication = crowded.add_publication(UDP, 1)
    crowd.leave(left)
    first, second = crowded.add_subscription(UDP, 1), crowded.add_subscription(UDP, 1)
    crowded.run_for(2 * S)
    assert not first.is_connected
    assert not second.is_connected
    assert "no counter left" in crowded.driver.errors()[-1].text
    assert len(crowded.driver.log_files()) == 1
    crowd.release()

    crowded.run_until(lambda: first.is_connected and second.is_connected)

    sinks = [Sink(first), Sink(second)]
    feed = Feed(publication, [b"%d" % n for n in range(10)])
    crowded.run_for(1 * S, each=lambda: (feed.offer(), [sink.poll() for sink in sinks]))
    assert [sink.all for sink in sinks] == [feed.messages] * 2
    for resource in (publication, first, second):
        resource.close()


def test_rejected_ipc_streams_whose_subscribers_get_no_counter_are_one_error(crowded, crowd):
    publications = [crowded.add_publication(IPC, stream_id) for stream_id in (1, 2)]
    subscriptions = [crowded.add_subscription(IPC, stream_id) for stream_id in (1, 2)]
    crowded.run_until(lambda: all(subscription.is_connected for subscription in subscriptions))
    for publication in publications:
        rejection = (commands.RejectImage, publication.registration_id, 0, "not wanted")
        crowded.result(crowded.client._operations.command("reject", *rejection))
    crowded.run_for(2 * S)
    crowd.leave(0)
    crowded.run_for(10 * S)

    (error,) = [error for error in crowded.driver.errors() if "after its rejection" in error.text]
    assert error.observation_count == 2
    assert "cannot link subscriptions to an IPC stream after its rejection (add them again" in error.text
    for resource in (*publications, *subscriptions):
        resource.close()


@pytest.fixture
def set_free_space(monkeypatch):
    """Sets the free space that the file system reports."""
    real = os.statvfs

    def set_free_space(length):
        def statvfs(path):
            status = [*real(path), 0]
            status[1], status[4] = 4096, length // 4096
            return os.statvfs_result(status)

        monkeypatch.setattr(os, "statvfs", statvfs)

    return set_free_space


@pytest.mark.parametrize("channel", [IPC, UDP])
def test_a_log_without_enough_space_is_refused(start_driver, set_free_space, channel):
    driver = start_driver(perform_storage_checks=True)
    driver.run_for(1 * S)
    set_free_space(3 * 64 * 1024)

    error = refusal(driver, driver.client.add_publication_async(channel, 1))
    driver.run_for(1 * S)

    assert error.code is ErrorCode.STORAGE_SPACE
    folder = driver.driver.aeron_dir
    assert "insufficient usable storage for new log of length=" in str(error)
    assert f" usable=196608 in {folder}" in str(error)
    assert driver.driver.log_files() == []
    assert driver.driver.find_counters("snd-") == []


def test_low_space_is_one_entry_of_the_error_log_while_the_free_space_changes(start_driver, set_free_space):
    driver = start_driver(perform_storage_checks=True)
    publications = []

    for free_mebibytes in (100, 90, 80):
        set_free_space(free_mebibytes * 1024 * 1024)
        publications.append(driver.add_publication(IPC, free_mebibytes))

    (record,) = driver.driver.errors()
    low = f"WARNING: space is running low: threshold=167772160 in {driver.driver.aeron_dir}"
    assert low in record.text
    assert record.observation_count == 3
