"""Detecting a loss, and reconnecting: delays between attempts, and limits at which a client gives up."""

import pytest

from aeron_core import (
    CLOSED,
    ClientTimeoutError,
    ClosedError,
    ConfigurationError,
    DriverTimeoutError,
    resilient,
)
from aeron_core._native import wire
from aeron_core.errors import CncIncompatibleError
from aeron_core.protocol import commands
from aeron_core.resilient.policy import Retry

IPC = "aeron:ipc"


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
