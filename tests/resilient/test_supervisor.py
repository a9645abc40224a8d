"""Events, handlers and threads of a resilient client: re-adding, and closing at any time."""

import os
import threading

import pytest

from aeron_core import (
    ClosedError,
    DriverTimeoutError,
    RegistrationError,
    resilient,
)
from aeron_core.protocol import commands

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


def test_events_are_logged_by_default(caplog):
    caplog.set_level("INFO", "aeron_core.resilient")

    resilient.log_event(resilient.Restored(duration_s=1.5))
    resilient.log_event(resilient.GaveUp(error=ClosedError("x"), attempts=3, elapsed_s=1))

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "Restored(duration_s=1.5)"),
        ("ERROR", "GaveUp(error=ClosedError('x'), attempts=3, elapsed_s=1)"),
    ]
