"""Re-resolution of manual destinations that have moved or had an unknown name."""

import pytest
from moved_nodes import cut_off, first_messages, subscribe_at

from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.testing.pair import S

MANUAL = "aeron:udp?control=10.0.0.1:20120|control-mode=manual"
NODE = "aeron:udp?endpoint=node:20121"


class Sender:
    """A driver with a publication with manual destinations."""

    def __init__(self, simulation, names, **settings):
        self.simulation = simulation
        self.names = names
        self.driver = simulation.add_driver("10.0.0.1", name_resolver="names", **settings)
        self.publication = simulation.result(self.driver.connect().add_publication_async(MANUAL, 1001))

    def add(self, channel=NODE):
        return self.simulation.result(self.publication.add_destination_async(channel))

    def remove(self, channel=NODE):
        return self.simulation.result(self.publication.remove_destination_async(channel))

    @property
    def destination_count(self):
        return self.driver.find_counter("mdc-num-dest").value


@pytest.fixture
def sender(simulation, names):
    return Sender(simulation, names)


def test_a_destination_follows_its_name_to_a_new_address(simulation, names, sender):
    sender.add()
    old, first = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: first.is_connected)
    cut_off(simulation, old)
    _, second = subscribe_at(simulation, "10.0.0.3")

    names.address = "10.0.0.3"
    simulation.run_until(lambda: second.is_connected, within_ns=12 * S)
    simulation.run_until(lambda: sender.publication.offer(b"found") > 0)

    assert first_messages(simulation, second) == [b"found"]
    assert sender.driver.counted("resolution_changes") == 1
    assert sender.destination_count == 1


def test_an_active_destination_is_not_looked_up_again(simulation, names, sender):
    sender.add()
    _, subscription = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected)
    names.asked.clear()

    simulation.run_for(30 * S)

    assert names.asked == []


def test_a_silent_destination_is_looked_up_every_timeout(simulation, names, sender):
    sender.add()
    names.asked.clear()

    simulation.run_for(5 * S)
    assert names.asked == []
    simulation.run_for(11 * S)

    assert names.asked == [("node", "endpoint", True)] * 3
    assert sender.driver.counted("resolution_changes") == 0


def test_only_the_silent_of_two_destinations_is_looked_up(simulation, names, sender):
    sender.add()
    sender.add("aeron:udp?endpoint=other:20122")
    _, subscription = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected)
    names.asked.clear()

    simulation.run_for(8 * S)

    assert names.asked == [("other", "endpoint", True)]


def test_a_receiver_that_restarts_at_the_same_address_is_connected_again(simulation, names, sender):
    sender.add()
    old, first = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: first.is_connected)
    old.close()
    simulation.drivers.remove(old)
    simulation.run_for(7 * S)
    _, second = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: second.is_connected)
    names.asked.clear()

    simulation.run_for(20 * S)

    assert names.asked == []


def test_a_destination_with_an_unknown_name_is_added_without_an_error(simulation, names, sender):
    names.address = None

    sender.add()
    simulation.run_for(1 * S)

    assert sender.destination_count == 1
    assert sender.driver.errors() == []
    assert sender.driver.counted("errors") == 0


def test_a_destination_with_an_unknown_name_is_resolved_later(simulation, names, sender):
    names.address = None

    sender.add()
    simulation.run_for(12 * S)
    assert any("node:20121" in error.text for error in sender.driver.errors())

    names.address = "10.0.0.2"
    _, subscription = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected)
    assert sender.driver.counted("resolution_changes") == 1


def test_a_destination_with_an_unknown_name_does_not_delay_the_others(simulation, names, sender):
    sender.add("aeron:udp?endpoint=10.0.0.2:20121")
    names.address = None
    sender.add()
    _, subscription = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: subscription.is_connected and sender.publication.is_connected)

    sender.publication.offer(b"here")

    assert first_messages(simulation, subscription) == [b"here"]


@pytest.mark.parametrize("address", ["10.0.0.2", None])
def test_a_destination_is_removed_by_its_name_after_its_address_changed(simulation, names, sender, address):
    names.address = address
    sender.add()
    names.address = "10.0.0.7"

    sender.remove()

    simulation.run_until(lambda: sender.destination_count == 0)
    names.asked.clear()
    simulation.run_for(10 * S)
    assert names.asked == []


def test_a_destination_is_removed_by_the_address_of_its_name(simulation, names, sender):
    sender.add()

    sender.remove("aeron:udp?endpoint=10.0.0.2:20121")

    simulation.run_until(lambda: sender.destination_count == 0)
    names.asked.clear()
    simulation.run_for(10 * S)
    assert names.asked == []


def test_removal_of_an_unknown_destination_succeeds(simulation, names, sender):
    sender.add("aeron:udp?endpoint=10.0.0.5:20121")
    names.address = None

    sender.remove()
    simulation.run_for(1 * S)

    assert sender.destination_count == 1


def test_a_destination_with_an_error_other_than_its_name_is_refused(simulation, names, sender):
    registration = sender.publication.add_destination_async("aeron:udp?endpoint=224.0.1.2:20121")
    simulation.run_until(lambda: registration.is_done)

    with pytest.raises(RegistrationError) as raised:
        registration.poll()

    assert raised.value.code is ErrorCode.GENERIC_ERROR
    assert sender.destination_count == 0


def test_an_address_of_the_other_family_is_logged_and_not_used(simulation, names, sender):
    sender.add()

    names.address = "::1"
    simulation.run_for(8 * S)

    (error,) = sender.driver.errors()
    assert "[::1]:20121" in error.text
    assert sender.driver.counted("resolution_changes") == 0


def test_a_lookup_for_a_removed_destination_is_dropped(simulation, names, sender):
    sender.add()
    lookups = []
    simulation.start_lookup = lookups.append
    simulation.run_for(8 * S)
    sender.remove()

    names.address = "10.0.0.3"
    lookups.pop()()
    simulation.run_for(1 * S)

    assert sender.driver.counted("resolution_changes") == 0
    assert sender.destination_count == 0
