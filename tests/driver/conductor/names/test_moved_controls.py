"""Re-resolution of the control address of a subscription after its sender has moved."""

import pytest
from moved_nodes import cut_off, first_messages

from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, frames_of
from aeron_core.testing.pair import S

CHANNEL = "aeron:udp?endpoint=10.0.0.1:20121|control=node:20120|control-mode=dynamic"
MANUAL = "aeron:udp?control-mode=manual"


def publish(simulation, address):
    driver = simulation.add_driver(address)
    channel = f"aeron:udp?control={address}:20120|control-mode=dynamic"
    return driver, simulation.result(driver.connect().add_publication_async(channel, 1001))


def subscribe(simulation, channel=CHANNEL, **settings):
    driver = simulation.add_driver("10.0.0.1", name_resolver="names", **settings)
    return driver, simulation.result(driver.connect().add_subscription_async(channel, 1001))


def subscribe_by_destination(simulation):
    driver = simulation.add_driver("10.0.0.1", name_resolver="names")
    subscription = simulation.result(driver.connect().add_subscription_async(MANUAL, 1001))
    simulation.result(subscription.add_destination_async(CHANNEL))
    return driver, subscription


@pytest.mark.parametrize("start", [subscribe, subscribe_by_destination])
def test_a_subscription_follows_the_name_of_its_sender_to_a_new_address(simulation, names, start):
    receiver, subscription = start(simulation)
    old, _ = publish(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected)
    cut_off(simulation, old)
    _, publication = publish(simulation, "10.0.0.3")

    names.address = "10.0.0.3"
    simulation.run_until(lambda: publication.is_connected, within_ns=10 * S)
    publication.offer(b"found")

    assert first_messages(simulation, subscription) == [b"found"]
    assert receiver.counted("resolution_changes") == 1
    assert receiver.errors() == []


def test_an_active_sender_is_not_looked_up_again(simulation, names):
    receiver, subscription = subscribe(simulation)
    publish(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected)
    names.asked.clear()

    simulation.run_for(30 * S)

    assert names.asked == []
    assert receiver.counted("resolution_changes") == 0


def test_a_sender_that_never_responded_is_looked_up_every_timeout(simulation, names):
    subscribe(simulation)
    assert names.asked == [("node", "control", False)]
    names.asked.clear()

    simulation.run_for(5 * S)
    assert names.asked == []
    simulation.run_for(15 * S)

    assert names.asked == [("node", "control", True)] * 3


def test_datagrams_that_are_not_frames_do_not_count_as_activity(simulation, names):
    subscribe(simulation)
    stranger = SimulatedPeer(simulation.network, "10.0.0.9", 1, ("10.0.0.1", 20121))
    names.asked.clear()

    for _ in range(8):
        stranger.send(b"\xff" * 32)
        simulation.run_for(1 * S)

    assert names.asked == [("node", "control", True)]


def test_an_interval_of_zero_turns_repeated_lookups_off(simulation, names):
    subscribe(simulation, reresolution_check_interval_ns=0)
    names.asked.clear()

    simulation.run_for(20 * S)

    assert names.asked == []


def test_a_literal_address_is_not_looked_up_again(simulation, names):
    subscribe(simulation, CHANNEL.replace("node", "10.0.0.2"))

    simulation.run_for(20 * S)

    assert names.asked == []


def test_an_address_of_the_other_family_is_logged_and_not_used(simulation, names):
    receiver, _ = subscribe(simulation)

    names.address = "::1"
    simulation.run_for(8 * S)

    (error,) = receiver.errors()
    assert "[::1]:20120" in error.text
    assert receiver.counted("resolution_changes") == 0


def test_a_lookup_for_a_closed_subscription_is_dropped(simulation, names):
    receiver, subscription = subscribe(simulation)
    lookups = []
    simulation.start_lookup = lookups.append
    simulation.run_for(8 * S)
    subscription.close()
    simulation.run_for(1 * S)

    names.address = "10.0.0.3"
    lookups.pop()()
    simulation.run_for(1 * S)

    assert lookups == []
    assert receiver.counted("resolution_changes") == 0


def test_setup_requests_go_to_the_new_address(simulation, names):
    subscribe(simulation)

    names.address = "10.0.0.3"
    simulation.run_for(8 * S)

    asked = simulation.network.sent(source="10.0.0.1", destination="10.0.0.3:20120")
    assert {(sm.session_id, sm.stream_id, sm.flags) for sm in frames_of(StatusMessage, asked)} == {
        (0, 0, 0x80)
    }
