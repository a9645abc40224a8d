"""Liveness checks of the client and its driver."""

import pytest

from aeron_core import (
    CLOSED,
    ClientError,
    ClientHandlers,
    ClientSettings,
    ClientTimeoutError,
    ClosedError,
    DriverTimeoutError,
)
from aeron_core._native import wire
from aeron_core.client.conductor.cnc_connection import connect_cnc
from aeron_core.errors import CncIncompatibleError, ProtocolError
from aeron_core.protocol import commands, responses

IPC = "aeron:ipc"
MS = 1_000_000
SECOND = 1_000 * MS


@pytest.fixture
def errors():
    return []


@pytest.fixture
def client(make_client, errors):
    return make_client(error_handler=errors.append, settings={"client_name": "tester"})


def label_of(double, client):
    return double.counters.label(double.clients[client.client_id])


def test_the_client_writes_its_heartbeat_every_half_second(client, double, clock):
    client.add_publication(IPC, 5)
    counter_id = double.clients[client.client_id]

    clock.advance(500 * MS)
    client.do_work()
    first = double.counters.value(counter_id)
    clock.advance(499 * MS)
    client.do_work()
    second = double.counters.value(counter_id)
    clock.advance(1 * MS)
    client.do_work()

    assert first == second == clock.epoch_ms() - 500
    assert double.counters.value(counter_id) == clock.epoch_ms()


def test_the_client_writes_its_name_into_the_label_of_its_heartbeat_once(client, double, clock):
    client.add_publication(IPC, 5)
    for _ in range(3):
        clock.advance(500 * MS)
        client.do_work()

    assert label_of(double, client).startswith(
        f"client-heartbeat: id={client.client_id} name=tester version="
    )
    assert label_of(double, client).count("name=") == 1


def test_a_driver_without_heartbeats_closes_the_client_and_its_resources(client, double, clock, errors):
    publication, subscription = client.add_publication(IPC, 5), client.add_subscription(IPC, 5)

    for _ in range(11):
        clock.advance(SECOND)
        client.do_work()

    [error] = errors
    assert isinstance(error, DriverTimeoutError)
    assert str(double.directory) in str(error)
    assert client.is_closed
    assert publication.offer(b"x") == CLOSED
    assert subscription.is_closed
    with pytest.raises(ClosedError, match="last heartbeat") as caught:
        client.add_publication(IPC, 5)
    assert caught.value.__cause__ is error


def test_the_shutdown_of_a_driver_is_detected_at_the_next_keepalive(client, double, clock, errors):
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(500 * MS)

    client.do_work()

    assert "has ended" in str(errors[0])


def test_a_client_whose_conductor_did_not_run_for_too_long_closes(client, double, clock, errors):
    client.add_publication(IPC, 5)
    clock.advance(10 * SECOND + 1)
    double.beat()

    client.do_work()
    double.do_work()

    assert isinstance(errors[0], ClientTimeoutError)
    assert "did not run for 10000 ms" in str(errors[0])
    assert isinstance(double.received[-1], commands.ClientClose)


def test_a_client_that_the_driver_timed_out_is_closed(client, double, errors):
    client.add_publication(IPC, 5)
    double.answer(responses.OnClientTimeout(client.client_id + 1))
    client.do_work()
    assert not client.is_closed

    double.answer(responses.OnClientTimeout(client.client_id))
    client.do_work()

    assert client.is_closed
    assert isinstance(errors[0], ClientTimeoutError)


def test_the_loss_of_its_heartbeat_counter_closes_the_client(client, double, clock, errors):
    client.add_publication(IPC, 5)
    clock.advance(500 * MS)
    client.do_work()
    double.counters.free(double.clients[client.client_id])
    clock.advance(500 * MS)

    client.do_work()

    assert isinstance(errors[0], ClientTimeoutError)


def test_losing_responses_of_the_driver_closes_the_client(client, double, errors):
    client.add_publication(IPC, 5)
    for _ in range(5000):
        double.answer(responses.OnOperationSuccess(-1))

    client.do_work()

    assert isinstance(errors[0], ClientError)
    assert "lost" in str(errors[0])
    assert client.is_closed


def test_commands_of_a_client_that_outlives_its_driver_fail_and_it_stays_open(client, double, clock, errors):
    subscription = client.add_subscription(IPC, 5)
    client._conductor.outlive_driver()
    double.ring.consumer_heartbeat_ms = -1
    registration = client.add_publication_async(IPC, 6)
    clock.advance(500 * MS)

    client.do_work()

    with pytest.raises(DriverTimeoutError, match="has ended"):
        registration.poll()
    assert not client.is_closed
    assert not subscription.is_closed
    assert errors == []


def test_pending_registrations_fail_with_the_error_that_closed_the_client(client, double, clock):
    registration = client.add_publication_async(IPC, 5)
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(500 * MS)
    client.do_work()

    with pytest.raises(DriverTimeoutError, match="has ended"):
        registration.result()


def test_a_driver_that_ends_at_a_deadline_is_not_stated_to_run(client, double, clock):
    double.is_silent = True
    registration = client.add_publication_async(IPC, 5)
    for step_ns in [*[SECOND] * 9, SECOND - 1 * MS]:
        clock.advance(step_ns)
        double.beat()
        client.do_work()
    clock.advance(2 * MS)
    client.do_work()

    # The last heartbeat was 1 ms before the deadline, and the next keepalive is not due.
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(1 * MS)
    client.do_work()
    assert not registration.is_done

    clock.advance(500 * MS)
    client.do_work()
    with pytest.raises(DriverTimeoutError, match="has ended"):
        registration.result()


def test_close_handlers_run_once_and_after_the_error_handler(make_client, double, clock):
    events = []
    client = make_client(
        handlers=ClientHandlers(
            on_error=lambda error: events.append("error"), on_close=lambda: events.append("close")
        )
    )
    client.add_close_handler(lambda: events.append("another"))
    double.ring.consumer_heartbeat_ms = -1
    clock.advance(500 * MS)

    client.do_work()
    client.close()

    assert events == ["error", "close", "another"]


def test_a_client_closes_with_its_handlers_if_the_command_ring_is_damaged(make_client, double):
    events = []
    client = make_client(
        handlers=ClientHandlers(on_error=events.append, on_close=lambda: events.append("close"))
    )
    publication = client.add_publication(IPC, 5)
    double.cnc.to_driver.put_i64(
        double.cnc.to_driver.capacity - wire.RING_TRAILER_LENGTH + wire.RING_HEAD_CACHE_OFFSET, 3
    )

    client.close()

    error, end = events
    assert isinstance(error, ProtocolError)
    assert end == "close"
    assert publication.is_closed


def test_connecting_without_a_driver_raises_with_the_directory_and_a_remedy(tmp_path, clock):
    settings = ClientSettings(aeron_dir=tmp_path, driver_timeout_ms=50)

    with pytest.raises(DriverTimeoutError, match=rf"{tmp_path}.*50 ms.*aeron-core driver"):
        connect_cnc(settings, clock, pause=lambda: clock.advance(20 * MS))


@pytest.mark.parametrize(
    ("variable", "is_named"), [("/dev/shm/other", True), ("", False), ("its own", False)]
)
def test_an_error_of_connecting_names_the_variable_that_settings_replace(
    tmp_path, clock, monkeypatch, variable, is_named
):
    monkeypatch.setenv("AERON_DIR", str(tmp_path) if variable == "its own" else variable)
    settings = ClientSettings(aeron_dir=tmp_path, driver_timeout_ms=50)

    with pytest.raises(DriverTimeoutError) as raised:
        connect_cnc(settings, clock, pause=lambda: clock.advance(20 * MS))

    note = "; AERON_DIR=/dev/shm/other is not read, because settings or a directory were given"
    assert str(raised.value).endswith(note) == is_named
    assert ("not read" in str(raised.value)) == is_named


def test_connecting_waits_for_a_driver_that_starts(double, clock):
    double.ring.consumer_heartbeat_ms = 0
    looks = []

    def pause():
        looks.append(clock.advance(20 * MS))
        if len(looks) == 3:
            double.beat()

    cnc = connect_cnc(ClientSettings(aeron_dir=double.directory), clock, pause=pause)

    assert (len(looks), cnc.pid) == (3, 1)


@pytest.mark.parametrize(
    ("heartbeat_ms", "reason"), [(-1, "shut down"), (0, "not started"), (1, "last heartbeat")]
)
def test_connecting_to_a_dead_driver_times_out_with_the_reason(double, clock, heartbeat_ms, reason):
    double.ring.consumer_heartbeat_ms = heartbeat_ms

    with pytest.raises(DriverTimeoutError, match=reason):
        connect_cnc(ClientSettings(aeron_dir=double.directory), clock, pause=lambda: clock.advance(SECOND))


def test_connecting_to_another_version_raises_at_once(double, clock):
    double.cnc.buffer.put_i32(wire.CNC_VERSION_OFFSET, 1 << 16)

    with pytest.raises(CncIncompatibleError, match=r"1\.0\.0"):
        connect_cnc(ClientSettings(aeron_dir=double.directory), clock, pause=lambda: clock.advance(SECOND))
