"""Commands of a resilient client: while there is no driver, and when one is lost or refuses them."""

import pytest

from aeron_core import (
    ChannelUriBuilder,
    ClientError,
    DriverTimeoutError,
    RegistrationError,
)
from aeron_core.protocol import commands

IPC = "aeron:ipc"


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
