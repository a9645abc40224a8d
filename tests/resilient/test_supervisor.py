"""Detecting a loss, reconnecting with delays, giving up, and closing at any time."""

import os
import threading

import pytest

from aeron_core import (
    CLOSED,
    ChannelUriBuilder,
    ClientError,
    ClientTimeoutError,
    ClosedError,
    ConfigurationError,
    DriverTimeoutError,
    RegistrationError,
    resilient,
)
from aeron_core._native import wire
from aeron_core.errors import CncIncompatibleError
from aeron_core.protocol import commands
from aeron_core.resilient.policy import Retry

IPC = "aeron:ipc"


def test_events_of_a_restart_are_in_order(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    subscription = aeron.add_subscription(IPC, 5)
    counter = aeron.add_counter(1001)
    scene.run()
    first = aeron.driver_identity, aeron.client_id
    scene.lose()

    scene.restart()

    kinds = [kind for kind in scene.kinds() if kind != "ReconnectFailed"]
    assert kinds == [
        "Disconnected",
        "Reconnected",
        "PublicationRestored",
        "SubscriptionRestored",
        "CounterRestored",
        "ImageRestored",
        "Restored",
    ]
    [lost], [back] = scene.of_type(resilient.Disconnected), scene.of_type(resilient.Reconnected)
    assert isinstance(lost.cause, DriverTimeoutError)
    assert (lost.driver_identity, lost.client_id) == first
    assert (back.driver_identity, back.client_id) == (aeron.driver_identity, aeron.client_id)
    assert back.previous_driver_identity == first[0] != back.driver_identity
    assert publication.is_attached
    assert subscription.is_attached
    assert counter.is_attached


def test_resources_are_re_added_in_the_order_in_which_they_were_added(scene, aeron):
    aeron.add_subscription(IPC, 1)
    aeron.add_publication(IPC, 2)
    aeron.add_counter(1001)
    aeron.add_exclusive_publication(IPC, 3)
    scene.lose()

    scene.restart()

    assert [type(command).__name__ for command in scene.driver.received] == [
        "AddSubscription",
        "AddPublication",
        "AddCounter",
        "AddExclusivePublication",
    ]


def test_a_driver_that_was_killed_is_lost_after_the_driver_timeout(scene, aeron):
    scene.run(3)
    scene.kill_driver()
    scene.run(9)
    assert aeron.is_connected

    scene.run(2)

    [event] = scene.of_type(resilient.Disconnected)
    assert event.silent_s == pytest.approx(10.5, abs=0.6)
    assert not aeron.is_connected
    assert not aeron.is_closed
    assert "reconnecting" in repr(aeron)


def test_a_driver_that_was_replaced_is_detected_at_once(scene, aeron):
    """The heartbeat of the old file is still fresh."""
    publication = aeron.add_publication(IPC, 5)
    scene.run(1)

    scene.restart(0.3)

    [event] = scene.of_type(resilient.Disconnected)
    assert "another media driver has replaced" in str(event.cause)
    assert publication.is_attached
    assert scene.driver.of_type(commands.AddPublication)


def test_a_directory_that_is_gone_is_lost_with_its_driver_only(scene, aeron):
    (scene.directory / "cnc.dat").unlink()
    scene.run(5)
    assert aeron.is_connected
    scene.stop_driver()

    scene.run(2)

    error = scene.of_type(resilient.ReconnectFailed)[-1].error
    assert isinstance(error, DriverTimeoutError)
    assert "no media driver is accessible" in str(error)


def test_a_driver_of_another_version_is_no_success_until_a_right_one_is_there(scene, aeron):
    scene.lose()
    driver = scene.start_driver()
    driver.cnc.buffer.put_i32(wire.CNC_VERSION_OFFSET, 99 << 16)
    scene.run(2)
    assert isinstance(scene.of_type(resilient.ReconnectFailed)[-1].error, CncIncompatibleError)

    scene.restart(5)

    assert scene.kinds()[-1] == "Restored"


def test_a_client_that_was_stopped_reconnects_to_the_same_driver(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    publication.offer(b"x")
    scene.run(3)
    identity, client_id = aeron.driver_identity, aeron.client_id

    scene.clock.advance(60 * 10**9)
    scene.run(1)

    [lost], [back] = scene.of_type(resilient.Disconnected), scene.of_type(resilient.Reconnected)
    assert isinstance(lost.cause, ClientTimeoutError)
    assert back.driver_identity == identity == back.previous_driver_identity
    assert back.client_id != client_id
    assert back.duration_s == pytest.approx(60, abs=1.5)
    assert scene.of_type(resilient.PublicationRestored)[0].duration_s == pytest.approx(60, abs=1.5)


def test_delays_between_attempts_double_up_to_their_bound(scene, aeron):
    policy = resilient.ReconnectPolicy(initial_delay_s=0.1, max_delay_s=1, event_interval_s=0)
    scene.connect(policy=policy)
    scene.lose()
    scene.run(5)

    failures = scene.of_type(resilient.ReconnectFailed)
    assert [event.retry_in_s for event in failures[:6]] == [0.1, 0.2, 0.4, 0.8, 1, 1]
    assert [event.attempt for event in failures[:6]] == [1, 2, 3, 4, 5, 6]
    assert failures[-1].elapsed_s == pytest.approx(5.5, abs=1)


def test_failed_attempts_are_reported_once_in_an_interval(scene):
    policy = resilient.ReconnectPolicy(initial_delay_s=0.05, max_delay_s=0.1, event_interval_s=1)
    scene.connect(policy=policy)
    scene.lose()

    scene.run(3)

    failures = scene.of_type(resilient.ReconnectFailed)
    assert 3 <= len(failures) <= 5
    assert failures[-1].attempt > 20


@pytest.mark.parametrize(
    ("limit", "attempts"), [({"max_attempts": 3}, 3), ({"max_elapsed_s": 1, "max_delay_s": 0.05}, None)]
)
def test_a_client_gives_up_at_the_limit_and_is_closed(scene, limit, attempts):
    aeron = scene.connect(policy=resilient.ReconnectPolicy(**limit))
    publication = aeron.add_publication(IPC, 5)
    scene.stop_driver()

    scene.run(4)

    [event] = scene.of_type(resilient.GaveUp)
    assert attempts in {None, event.attempts}
    assert scene.kinds()[-1] == "GaveUp"
    assert aeron.is_closed
    assert scene.closes == [1]
    assert publication.is_closed
    assert publication.offer(b"x") is CLOSED
    with pytest.raises(ClosedError, match="no media driver is accessible") as raised:
        aeron.add_publication(IPC, 5)
    assert raised.value.__cause__ is event.error


@pytest.mark.parametrize("limit", [{"max_attempts": 4}, {"max_elapsed_s": 2}])
def test_limits_of_a_policy_do_not_include_a_loss_before_the_last_connection(scene, limit):
    policy = resilient.ReconnectPolicy(initial_delay_s=0.3, multiplier=1, event_interval_s=0, **limit)
    aeron = scene.connect(policy=policy)
    aeron.add_publication(IPC, 5)
    scene.lose()
    scene.start_driver().refused_commands.add(commands.AddPublication)
    scene.run(5)
    assert scene.of_type(resilient.RestoreFailed)

    scene.lose()
    scene.restart()

    assert not scene.of_type(resilient.GaveUp)
    assert scene.kinds()[-1] == "Restored"
    failures = scene.of_type(resilient.ReconnectFailed)
    assert [event.attempt for event in failures] == [1, 2, 1, 2, 3]
    assert aeron.is_connected


def test_a_loss_during_re_adding_keeps_the_positions_before_the_first_loss(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    other = aeron.add_publication(IPC, 6)
    for _ in range(2):
        publication.offer(b"x")
    scene.lose()
    scene.start_driver().is_silent = True
    scene.run(2)
    assert len(scene.of_type(resilient.Reconnected)) == 1
    scene.lose()

    scene.restart(3)

    assert scene.kinds().count("Disconnected") == scene.kinds().count("Reconnected") == 2
    assert scene.kinds().count("Restored") == 1
    [first, second] = scene.of_type(resilient.PublicationRestored)
    assert (first.publication, first.before.position) == (publication, 128)
    assert (second.publication, second.before.position) == (other, 0)
    assert first.duration_s == pytest.approx(scene.of_type(resilient.Restored)[0].duration_s, abs=0.1)


def test_a_driver_that_refuses_one_resource_gets_the_others(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    subscription = aeron.add_subscription(IPC, 5)
    scene.lose()
    scene.start_driver().refused_commands.add(commands.AddPublication)
    scene.run(1)
    failed = scene.of_type(resilient.RestoreFailed)[0]
    assert (failed.resource, failed.destination) == (publication, None)
    assert isinstance(failed.error, RegistrationError)
    assert subscription.is_attached
    assert not publication.is_attached

    scene.driver.refused_commands.clear()
    scene.run(5)

    assert publication.is_attached
    assert scene.kinds()[-1] == "Restored"


def test_a_resource_that_is_closed_while_a_driver_refuses_it_is_not_reported(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    scene.lose()
    scene.start_driver().refused_commands.add(commands.AddPublication)
    while not scene.driver.of_type(commands.AddPublication):
        aeron.do_work()
        scene.driver.do_work()
        scene.clock.advance(10_000_000)
    aeron._supervisor.last.do_work()

    publication.close()
    scene.run(1)

    assert scene.of_type(resilient.RestoreFailed) == []
    assert scene.kinds()[-1] == "Restored"


def test_a_handler_that_raises_stops_nothing(scene):
    def fail(event):
        raise RuntimeError("no")

    aeron = scene.connect(on_event=fail)
    publication = aeron.add_publication(IPC, 5)
    scene.lose()

    scene.restart()

    assert publication.is_attached
    assert any(isinstance(error, RuntimeError) for error in scene.errors)


def test_an_unexpected_error_of_one_resource_is_an_event_and_the_resource_is_tried_again(
    scene, aeron, monkeypatch
):
    publication, other = aeron.add_publication(IPC, 5), aeron.add_publication(IPC, 6)
    scene.lose()
    scene.start_driver()

    def fail(plain):
        raise RuntimeError("no")

    monkeypatch.setattr(publication, "attach", fail)
    scene.run(1)
    assert other.is_attached
    [event] = scene.of_type(resilient.RestoreFailed)
    assert isinstance(event.error, RuntimeError)
    monkeypatch.undo()
    scene.run(5)

    assert publication.is_attached
    assert scene.errors[1:] == []


def test_an_error_of_the_supervisor_goes_to_the_error_handler(scene, aeron, monkeypatch):
    monkeypatch.setattr(aeron._supervisor, "_restore", lambda now_ns: 1 // 0)

    aeron.do_work()

    assert isinstance(scene.errors[-1], ZeroDivisionError)


def test_a_close_that_the_driver_cannot_take_leaves_the_resource_open(scene, aeron, monkeypatch):
    publication = aeron.add_publication(IPC, 5)
    plain = publication.plain
    monkeypatch.setattr(aeron._supervisor.last._conductor.driver._ring.__class__, "write", lambda *_: False)
    with pytest.raises(ClientError, match="command ring of the media driver was full"):
        publication.close()
    monkeypatch.undo()

    assert not publication.is_closed
    assert publication.offer(b"x") == 64
    publication.close()
    assert plain.is_closed


def test_a_close_that_fails_while_the_client_reconnects_leaves_the_resource_re_added(scene, aeron):
    publication = aeron.add_publication(IPC, 5)

    def close(_):
        scene.lose()
        scene.restart()
        raise ClientError("the command ring is full")

    with pytest.raises(ClientError, match="ring is full"):
        publication._close(close)
    scene.run(1)

    assert publication.is_attached
    assert not publication.is_closed


def test_a_handler_may_add_a_resource_and_close_the_client(scene, aeron):
    added = []

    def handle(event):
        if isinstance(event, resilient.Reconnected):
            added.append(aeron.add_publication_async(IPC, 9))
        if isinstance(event, resilient.Restored):
            aeron.close()

    aeron.add_event_handler(handle)
    aeron.add_publication(IPC, 5)
    scene.lose()

    scene.restart()

    assert aeron.is_closed
    assert [command.stream_id for command in scene.driver.of_type(commands.AddPublication)] == [9, 5]
    assert len(scene.driver.of_type(commands.ClientClose)) == 1


def test_commands_wait_for_the_driver_and_then_raise(scene):
    aeron = scene.connect(settings={"driver_timeout_ms": 300})
    scene.lose()
    registration = aeron.add_subscription_async(IPC, 5)
    assert registration.poll() is None
    with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
        registration.result(0.1)
    with pytest.raises(DriverTimeoutError, match=r"no driver within 0\.3 s"):
        aeron.next_session_id(5)
    with pytest.raises(DriverTimeoutError, match="no driver within 0 s"):
        aeron.terminate_driver()
    with pytest.raises(TypeError, match="stream_id='7': must be an integer"):
        aeron.add_publication(IPC, "7")
    with pytest.raises(TypeError, match="channel=7: must be a channel"):
        aeron.add_subscription(7, 7)


def test_a_command_that_is_sent_before_a_loss_is_repeated(scene, aeron):
    scene.driver.is_silent = True
    registration = aeron.add_publication_async(ChannelUriBuilder().media("ipc"), 5)
    scene.lose()
    assert registration.poll() is None
    assert not registration.is_done

    scene.restart()
    registration.poll()
    scene.run()

    publication = registration.poll()
    assert publication.offer(b"x") == 64
    assert registration.is_done
    scene.lose()
    scene.restart(3)
    assert publication.is_attached


def test_a_cancelled_registration_closes_what_arrives(scene, aeron):
    pending = aeron.add_publication_async(IPC, 5)

    assert pending.cancel()
    scene.run()

    assert len(scene.driver.of_type(commands.RemovePublication)) == 1
    assert not pending.cancel()
    with pytest.raises(ClientError, match="the registration was cancelled"):
        pending.poll()


def test_a_registration_that_was_refused_can_be_cancelled(scene, aeron):
    scene.driver.refused_commands.add(commands.AddPublication)
    pending = aeron.add_publication_async(IPC, 5)
    scene.run()

    assert pending.cancel()

    with pytest.raises(ClientError, match="the registration was cancelled"):
        pending.poll()


def test_a_refused_command_raises(scene, aeron):
    scene.driver.refusal = (1, "no such thing")

    with pytest.raises(RegistrationError, match="no such thing"):
        aeron.add_publication(IPC, 5)
    scene.driver.refusal = None
    scene.lose()
    scene.restart()

    assert scene.driver.received == []


def test_a_publication_that_was_added_to_a_driver_that_is_lost_by_then_is_re_added(scene, aeron):
    registration = aeron.add_publication_async(IPC, 5)
    aeron._supervisor.last.do_work()
    scene.driver.do_work()
    aeron._supervisor.last.do_work()
    scene.lose()
    scene.restart()
    assert scene.driver.of_type(commands.AddPublication) == []

    publication = registration.poll()
    scene.run()

    assert publication.is_attached
    assert len(scene.driver.of_type(commands.AddPublication)) == 1


def test_the_client_can_be_closed_while_there_is_no_driver(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    closed = []
    aeron.add_close_handler(lambda: closed.append(1))
    scene.lose()
    assert closed == []

    aeron.close()
    aeron.close()

    assert aeron.is_closed
    assert closed == [1]
    assert publication.is_closed
    assert aeron.do_work() == 0
    with pytest.raises(ClosedError, match="is closed: "):
        publication.await_connected(1)


def test_counter_handlers_are_moved_to_the_next_driver(scene, aeron):
    seen = []

    def handler(reader, registration_id, counter_id):
        seen.append((reader, counter_id))

    aeron.add_available_counter_handler(handler)
    aeron.add_unavailable_counter_handler(handler)
    counter = aeron.add_counter(1001)
    assert (aeron.counters_reader, counter.id) in seen
    seen.clear()
    scene.lose()

    scene.restart()

    assert (aeron.counters_reader, counter.id) in seen
    aeron.remove_available_counter_handler(handler)
    aeron.remove_unavailable_counter_handler(handler)


def test_threads_of_a_client_end_with_it(scene):
    """With the threads of a program: nothing calls `do_work`."""
    before = set(threading.enumerate())
    aeron = resilient.connect(scene.directory, on_event=scene.events.append, clock=scene.clock)
    assert {thread.name for thread in set(threading.enumerate()) - before} == {
        "aeron-client-conductor",
        "aeron-resilient",
    }

    aeron.close()

    assert set(threading.enumerate()) == before


def test_a_forked_child_leaves_the_client_of_its_parent_alone(scene, aeron):
    aeron.add_publication(IPC, 5)
    child = os.fork()
    if child == 0:
        assert aeron._supervisor.do_work() == 0
        aeron.close()
        os._exit(0 if aeron.is_closed else 1)

    _, status = os.waitpid(child, 0)
    scene.run()

    assert status == 0
    assert scene.driver.of_type(commands.ClientClose) == []
    assert not aeron.is_closed


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("initial_delay_s", 0, "more than 0"),
        ("max_delay_s", -1, "more than 0"),
        ("check_interval_s", 0, "more than 0"),
        ("multiplier", 0.5, "at least 1"),
        ("event_interval_s", -1, "at least 0"),
        ("max_attempts", 0, "at least 1, or None"),
        ("max_elapsed_s", -1, "at least 0, or None"),
    ],
)
def test_a_wrong_policy_raises(field, value, allowed):
    with pytest.raises(ConfigurationError, match=f"^{field}={value} of ReconnectPolicy: must be {allowed}$"):
        resilient.ReconnectPolicy(**{field: value})


def test_the_delay_stays_at_its_bound_for_any_number_of_attempts():
    retry = Retry(resilient.ReconnectPolicy(multiplier=1e6))

    assert {retry.failed(0) for _ in range(2000)} == {0.05, 5.0}


def test_events_are_logged_by_default(caplog):
    caplog.set_level("INFO", "aeron_core.resilient")

    resilient.log_event(resilient.Restored(duration_s=1.5))
    resilient.log_event(resilient.GaveUp(error=ClosedError("x"), attempts=3, elapsed_s=1))

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "Restored(duration_s=1.5)"),
        ("ERROR", "GaveUp(error=ClosedError('x'), attempts=3, elapsed_s=1)"),
    ]
