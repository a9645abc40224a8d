"""Snapshots of real drivers."""

import os
import time

import pytest
from observed import records_of, snapshot

import aeron_core
from aeron_core.concurrent import counter_types as types
from aeron_core.errors import CncNotReadyError
from aeron_core.observation import DriverObserver, Party, limitations, rates_between

SMALL = {"counters_buffer_length": "1m", "term_buffer_length": "128k", "ipc_term_buffer_length": "64k"}
UDP = "aeron:udp?endpoint=localhost:0"


@pytest.fixture
def driver(tmp_path):
    with aeron_core.MediaDriver.launch({"aeron_dir": tmp_path / "driver", **SMALL}) as launched:
        yield launched


@pytest.fixture
def client(driver):
    settings = aeron_core.ClientSettings(client_name="reader")
    with aeron_core.connect(driver.aeron_dir, settings) as connected:
        yield connected


def fill(publication):
    """Offer until the publisher is at its limit, and the driver has shown it in its counters."""
    deadline = time.monotonic() + 60
    while publication.offer(bytes(1000)) != aeron_core.BACK_PRESSURED:
        assert time.monotonic() < deadline


def awaited(observer, condition):
    """Return the first snapshot that meets a condition."""
    deadline = time.monotonic() + 60
    while not condition(found := observer.snapshot()):
        assert time.monotonic() < deadline, limitations(found)
    return found


def test_a_snapshot_shows_streams_clients_errors_and_losses(driver, client):
    client.add_subscription("aeron:ipc", 8)
    publication = client.add_publication("aeron:ipc", 8)
    publication.await_connected(timeout=30)
    context = driver._assembly.context
    context.errors.record(11, "something went wrong")
    context.loss_report.prepare(
        session_id=publication.session_id, stream_id=8, channel="aeron:udp", source="1.2.3.4:5"
    ).record(64, 1_000)

    found = awaited(DriverObserver(driver.aeron_dir), lambda each: "reader" in str(each.clients))

    (stream,) = found.streams
    (sent,) = stream.publications.values()
    (reader,) = sent.subscribers
    assert found.clients[reader.client_id].name == "reader"
    assert found.clients[reader.client_id].pid == os.getpid()
    assert [error.text for error in found.errors] == ["(11) something went wrong"]
    assert [loss.total_bytes_lost for loss in found.losses_of(stream)] == [64]
    assert (found.driver.is_alive, found.driver.pid, found.problems) == (True, os.getpid(), ())
    assert found.recordings == []


def test_a_subscriber_of_ipc_that_does_not_poll_is_named_until_it_reads(driver, client):
    subscription = client.add_subscription("aeron:ipc", 8)
    publication = client.add_publication("aeron:ipc", 8)
    publication.await_connected(timeout=30)
    fill(publication)
    observer = DriverObserver(driver.aeron_dir)

    # The client appends its name with its first keepalive.
    awaited(observer, lambda each: "reader" in str(each.clients))
    first = awaited(observer, lambda each: limitations(each)[0].party is Party.SUBSCRIBER)
    (found,) = limitations(observer.snapshot(), first)

    assert found.is_publisher_limited
    assert found.is_polling is False
    assert f"subscriber {subscription.registration_id} of process {os.getpid()} (reader)" in found.sentence
    while subscription.poll(lambda buffer, header: None, 100):
        pass
    awaited(observer, lambda each: limitations(each)[0].party is Party.NONE)


def test_a_subscriber_of_an_image_that_does_not_poll_limits_publication_and_image(driver, client):
    subscription = client.add_subscription(UDP, 8)
    publication = client.add_publication(subscription.resolved_channel() or "", 8)
    publication.await_connected(timeout=30)
    fill(publication)

    found = awaited(
        DriverObserver(driver.aeron_dir),
        lambda each: [one.party for one in limitations(each)] == [Party.SUBSCRIBER] * 2,
    )

    assert {one.subscriber.registration_id for one in limitations(found)} == {subscription.registration_id}


def test_rates_follow_from_two_snapshots(driver, client):
    subscription = client.add_subscription("aeron:ipc", 8)
    publication = client.add_publication("aeron:ipc", 8)
    publication.await_connected(timeout=30)
    subscription.await_connected(timeout=30)
    observer = DriverObserver(driver.aeron_dir)
    first = observer.snapshot()
    position = publication.offer(bytes(1000))
    assert subscription.poll(lambda buffer, header: None, 10) == 1

    def is_shown(each):
        return [sent.position for sent in each.streams[0].publications.values()] == [position]

    second = awaited(observer, is_shown)

    rates = rates_between(first, second)
    (stream,) = second.streams
    (sent,) = stream.publications.values()
    assert rates.published(stream, sent) == pytest.approx(position / rates.seconds)
    assert rates.consumed(stream, sent, sent.subscribers[0]) == pytest.approx(position / rates.seconds)


def test_an_observer_follows_the_next_driver_of_the_directory(tmp_path):
    observer = DriverObserver(tmp_path / "driver")
    with pytest.raises(CncNotReadyError, match="no media driver is accessible"):
        observer.snapshot()
    starts = []
    for start_ms in (1, 2):
        settings = {"aeron_dir": tmp_path / "driver", "dir_delete_on_start": True, **SMALL}
        with aeron_core.MediaDriver(settings, invoker=True) as driver:
            driver.do_work()
            driver._assembly.context.errors.record(start_ms, "an error")
            starts.append(observer.snapshot())

    first, second = starts
    assert [error.text for error in second.errors] == ["(2) an error"]
    assert not first.is_same_driver(second) or first.driver == second.driver


def test_a_driver_that_deletes_its_directory_is_shown_as_it_was(tmp_path):
    observer = DriverObserver(tmp_path / "driver")
    settings = {"aeron_dir": tmp_path / "driver", "dir_delete_on_shutdown": True, **SMALL}
    with aeron_core.MediaDriver(settings, invoker=True) as driver:
        driver.do_work()
        observer.snapshot()

    found = observer.snapshot()

    assert not found.driver.is_alive
    assert found.counters[0].type_id == types.SYSTEM
    assert [problem for problem in found.problems if "loss-report.dat" in problem]


def test_a_stream_is_found_by_its_ids():
    found = snapshot(*records_of(pub_pos=1))

    assert found.stream(1001, 7) is found.streams[0]
    assert found.stream(1001, 8) is None
