"""Publications of a resilient client while the driver is gone, and after it is back."""

import numpy as np
import pytest

from aeron_core import (
    CLOSED,
    NOT_CONNECTED,
    ClientError,
    ClosedError,
    DriverTimeoutError,
    NotConnectedError,
    RegistrationError,
    resilient,
)
from aeron_core.client.channel_status import ChannelStatus
from aeron_core.protocol import commands

IPC = "aeron:ipc"
MDC = "aeron:udp?control-mode=manual|control=localhost:0"


@pytest.fixture(params=["add_publication", "add_exclusive_publication"])
def publication(request, aeron):
    return getattr(aeron, request.param)(IPC, 5)


def test_an_offer_returns_the_position_of_the_plain_publication(publication):
    assert [publication.offer(b"x"), publication.offer([b"a", b"b"], reserved_value=3)] == [64, 128]
    assert publication.position == 128
    assert publication.is_connected


def test_an_offer_is_not_connected_while_the_driver_is_gone(scene, publication):
    publication.offer(b"x")

    scene.lose()

    assert publication.offer(b"x") is NOT_CONNECTED
    assert publication.offer(b"x", reserved_value=7) is NOT_CONNECTED
    assert publication.offer_batch(b"x", np.array([0, 1])) is NOT_CONNECTED
    assert publication.offer_many([b"x"]) is NOT_CONNECTED
    claim = publication.try_claim(5)
    assert not claim
    assert claim.position is NOT_CONNECTED
    assert not publication.is_closed
    assert not publication.is_connected
    assert not publication.is_attached


def test_the_state_of_a_publication_without_a_driver_is_that_of_its_last_stream(scene, publication):
    publication.offer(b"x")
    length = publication.max_message_length

    scene.lose()

    assert (publication.position, publication.position_limit, publication.available_window) == (64, 64, 0)
    assert publication.max_message_length == length
    assert publication.peers == publication.local_addresses() == []
    assert publication.channel_status is ChannelStatus.INITIALIZING
    assert "detached" in repr(publication)


def test_a_publication_is_re_added_with_its_channel_and_stream(scene, publication):
    kind = type(scene.driver.received[-1])
    scene.lose()

    scene.restart()

    [command] = scene.driver.of_type(kind)
    assert (command.channel, command.stream_id) == (IPC, 5)
    assert publication.registration_id == command.correlation_id
    assert publication.offer(b"x") == 64


def test_the_event_has_the_last_position_of_the_lost_stream_and_the_first_one_of_the_new_stream(
    scene, publication
):
    session_id = publication.session_id
    for _ in range(3):
        publication.offer(b"x")
    scene.lose()

    scene.restart()

    [event] = scene.of_type(resilient.PublicationRestored)
    assert event.publication is publication
    assert (event.before.session_id, event.before.position) == (session_id, 192)
    assert (event.after.session_id, event.after.position) == (publication.session_id, 0)
    assert event.before.session_id != event.after.session_id
    assert event.duration_s == pytest.approx(1, abs=0.7)


def test_messages_that_were_accepted_after_the_driver_died_count_to_the_last_position(scene, publication):
    scene.kill_driver()
    publication.offer(b"lost")
    scene.run(11)

    scene.restart()

    assert scene.of_type(resilient.PublicationRestored)[0].before.position == 64


def test_send_waits_for_the_next_driver(scene, publication):
    scene.lose()
    scene.start_driver()

    assert publication.send(b"x", timeout=10) == 64


def test_send_raises_once_its_timeout_has_passed_without_a_driver(scene, publication):
    scene.lose()

    with pytest.raises(
        NotConnectedError, match=r"not re-added to the media driver within 0\.5 s: there is no"
    ):
        publication.send(b"x", timeout=0.5)


def test_send_raises_in_a_handler_of_events(scene, aeron):
    publication = aeron.add_publication(IPC, 5)
    aeron.add_event_handler(lambda event: publication.send(b"x"))

    scene.lose()

    assert isinstance(scene.errors[-1], ClientError)
    assert "a handler of events must not wait" in str(scene.errors[-1])


def test_a_publication_that_is_closed_is_not_re_added(scene, publication):
    scene.lose()
    publication.close()
    publication.close()

    scene.restart()

    assert scene.of_type(resilient.PublicationRestored) == []
    assert publication.offer(b"x") is CLOSED
    assert publication.position is publication.position_limit is publication.available_window is CLOSED
    with pytest.raises(ClosedError, match="is closed: add a new one"):
        publication.send(b"x")
    with pytest.raises(ClosedError, match="is closed: add a new one"):
        publication.await_connected(1)


def test_a_publication_that_is_closed_while_it_is_re_added_is_removed_from_the_driver(scene, publication):
    scene.lose()
    scene.start_driver()
    scene.driver.is_silent = True
    scene.run(1)
    scene.driver.is_silent = False

    publication.close()
    scene.run()

    assert len(scene.driver.of_type(commands.RemovePublication)) == 1
    assert publication.is_closed


def test_a_revoked_publication_is_revoked_in_the_driver_and_not_re_added(scene, publication):
    publication.revoke()
    scene.run()
    [command] = scene.driver.of_type(commands.RemovePublication)
    scene.lose()

    scene.restart()

    assert command.flags == 1
    assert scene.of_type(resilient.PublicationRestored) == []


def test_destinations_are_re_added_before_the_publication_is_attached(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    publication.add_destination("aeron:udp?endpoint=a:1")
    second = publication.add_destination("aeron:udp?endpoint=b:1")
    removed = publication.add_destination("aeron:udp?endpoint=c:1")
    publication.remove_destination_by_id(removed)
    publication.add_destination("aeron:udp?endpoint=d:1")
    publication.remove_destination("aeron:udp?endpoint=d:1")
    scene.lose()

    scene.restart()

    added = scene.driver.of_type(commands.AddDestination)
    assert [command.channel for command in added] == ["aeron:udp?endpoint=a:1", "aeron:udp?endpoint=b:1"]
    assert {command.registration_id for command in added} == {publication.registration_id}
    publication.remove_destination_by_id(second)
    [command] = scene.driver.of_type(commands.RemoveDestinationById)
    assert command.destination_registration_id == added[1].correlation_id


def test_a_destination_that_was_refused_is_not_re_added(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    scene.driver.refusal = (11, "unknown host")
    with pytest.raises(RegistrationError, match="unknown host"):
        publication.add_destination("aeron:udp?endpoint=nowhere:1")
    scene.lose()

    scene.restart()

    assert scene.driver.of_type(commands.AddDestination) == []
    assert scene.kinds()[-1] == "Restored"


def test_a_destination_that_a_new_driver_refuses_does_not_hold_the_publication_back(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    publication.add_destination("aeron:udp?endpoint=a:1")
    scene.lose()
    driver = scene.start_driver()
    driver.refused_commands.add(commands.AddDestination)

    scene.run(1)

    [failed] = scene.of_type(resilient.RestoreFailed)
    assert (failed.resource, failed.destination) == (publication, "aeron:udp?endpoint=a:1")
    assert publication.is_attached
    assert "Restored" not in scene.kinds()
    driver.refused_commands.clear()
    scene.run(5)
    assert scene.kinds()[-1] == "Restored"


def test_a_destination_that_a_new_driver_refuses_can_be_removed(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    destination = publication.add_destination("aeron:udp?endpoint=a:1")
    scene.lose()
    driver = scene.start_driver()
    driver.refused_commands.add(commands.AddDestination)
    scene.run(1)
    driver.refused_commands.clear()
    driver.received.clear()

    publication.remove_destination_by_id(destination)
    scene.run(5)

    assert driver.of_type(commands.RemoveDestinationById) == []
    assert scene.kinds()[-1] == "Restored"
    assert driver.of_type(commands.AddDestination) == []


def test_a_destination_that_is_removed_while_it_is_re_added_is_removed_from_the_driver(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    destination = publication.add_destination("aeron:udp?endpoint=a:1")
    scene.lose()
    driver = scene.start_driver()
    driver.refused_commands.add(commands.AddDestination)
    scene.run(1)
    driver.refused_commands.clear()
    driver.received.clear()
    scene.clock.advance(5_000_000_000)
    aeron.do_work()

    publication.remove_destination_by_id(destination)
    scene.run(1)

    [added] = driver.of_type(commands.AddDestination)
    [removed] = driver.of_type(commands.RemoveDestinationById)
    assert removed.destination_registration_id == added.correlation_id


def test_a_destination_is_not_added_without_waiting_while_the_driver_is_gone(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    scene.lose()

    with pytest.raises(DriverTimeoutError, match="is not in the media driver now: there is no media driver"):
        publication.add_destination_async("aeron:udp?endpoint=a:1")


def test_a_destination_is_added_to_the_next_driver(scene, aeron):
    publication = aeron.add_publication(MDC, 5)
    scene.lose()
    scene.start_driver()

    publication.add_destination("aeron:udp?endpoint=a:1")

    assert len(scene.driver.of_type(commands.AddDestination)) == 1


def test_a_block_for_the_stream_before_a_restart_is_refused(scene, aeron):
    publication = aeron.add_exclusive_publication(IPC, 5)
    scene.lose()
    assert publication.offer_block(bytes(64)) is publication.append_padding(1) is NOT_CONNECTED
    scene.restart()

    with pytest.raises(ValueError, match="block with a length of 64"):
        publication.offer_block(bytes(64))
    assert publication.append_padding(1) == 64
    assert (publication.term_id, publication.term_offset) == (7, 64)
