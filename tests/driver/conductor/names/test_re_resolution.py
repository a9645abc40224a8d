"""Re-resolution of the name of a receiver that has moved."""

import pytest
from moved_nodes import cut_off, first_messages, subscribe_at

from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=node:20121"


def publish(simulation, channel=CHANNEL, **settings):
    driver = simulation.add_driver("10.0.0.1", name_resolver="names", **settings)
    return driver, simulation.result(driver.connect().add_publication_async(channel, 1001))


@pytest.mark.parametrize("connects", [True, False])
def test_a_publication_follows_a_name_to_its_new_address(simulation, names, connects):
    sender, publication = publish(simulation, driver_connect=connects)
    old, _ = subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: publication.is_connected)
    cut_off(simulation, old)
    _, subscription = subscribe_at(simulation, "10.0.0.3")

    names.address = "10.0.0.3"
    simulation.run_until(lambda: subscription.is_connected, within_ns=10 * S)
    simulation.run_until(lambda: publication.offer(b"found") > 0)

    assert first_messages(simulation, subscription) == [b"found"]
    assert sender.counted("resolution_changes") == 1
    assert sender.errors() == []


def test_the_new_local_address_of_a_reconnected_socket_is_published(simulation, names):
    driver = simulation.add_driver("10.0.0.1", "192.168.0.1", name_resolver="names")
    publication = simulation.result(driver.connect().add_publication_async(CHANNEL, 1001))
    (before,) = publication.local_addresses()
    assert before.startswith("10.0.0.1:")

    names.address = "192.168.0.2"
    simulation.run_for(8 * S)

    (after,) = publication.local_addresses()
    assert after.startswith("192.168.0.1:")
    assert driver.find_counter("snd-channel").label == f"snd-channel: {CHANNEL} {after}"
    assert driver.find_counter("snd-local-sockaddr").label.endswith(f" {after}")


def test_a_responding_receiver_is_not_looked_up_again(simulation, names):
    sender, publication = publish(simulation)
    subscribe_at(simulation, "10.0.0.2")
    simulation.run_until(lambda: publication.is_connected)
    names.asked.clear()

    simulation.run_for(30 * S)

    assert names.asked == []
    assert sender.counted("resolution_changes") == 0


def test_a_receiver_that_never_responded_is_looked_up_after_the_timeout_and_then_each_interval(
    simulation, names
):
    publish(simulation)
    assert names.asked == [("node", "endpoint", False)]
    names.asked.clear()

    simulation.run_for(5 * S)
    assert names.asked == []
    simulation.run_for(3 * S)

    assert names.asked == [("node", "endpoint", True)] * 3


@pytest.mark.parametrize(("interval_ns", "count"), [(0, 0), (500 * MS, 6), (3 * S, 1)])
def test_the_interval_is_set_by_the_setting(simulation, names, interval_ns, count):
    publish(simulation, reresolution_check_interval_ns=interval_ns)
    names.asked.clear()

    simulation.run_for(8 * S)

    assert len(names.asked) == pytest.approx(count, abs=1 if count else 0)


def test_a_literal_address_is_not_looked_up_again(simulation, names):
    publish(simulation, "aeron:udp?endpoint=10.0.0.2:20121")

    simulation.run_for(20 * S)

    assert names.asked == []


def test_a_lookup_that_hangs_is_not_started_again(simulation, names):
    publish(simulation)
    lookups = []
    simulation.start_lookup = lookups.append

    simulation.run_for(20 * S)

    assert len(lookups) == 1


def test_a_removed_name_is_logged_once_and_the_lookup_is_repeated(simulation, names):
    sender, publication = publish(simulation)
    names.address = None
    simulation.run_for(20 * S)
    (error,) = sender.errors()
    assert "'node'" in error.text

    names.address = "10.0.0.3"
    subscribe_at(simulation, "10.0.0.3")

    simulation.run_until(lambda: publication.is_connected)


def test_an_address_of_the_other_family_is_logged_and_not_used(simulation, names):
    sender, _ = publish(simulation)

    names.address = "::1"
    simulation.run_for(10 * S)

    (error,) = sender.errors()
    assert "[::1]:20121" in error.text
    assert sender.counted("resolution_changes") == 0


def test_a_lookup_for_a_closed_channel_is_dropped(simulation, names):
    sender, publication = publish(simulation)
    lookups = []
    simulation.start_lookup = lookups.append
    simulation.run_for(8 * S)
    publication.close()
    simulation.run_for(20 * S)

    names.address = "10.0.0.3"
    lookups.pop()()
    simulation.run_for(1 * S)

    assert sender.counted("resolution_changes") == 0


def test_a_driver_that_restarts_at_another_address_is_found_by_gossip(simulation):
    def start(name, address, *neighbors):
        return simulation.add_driver(
            address,
            name_resolver="driver",
            resolver_name=name,
            resolver_interface=f"{address}:8050",
            resolver_bootstrap_neighbors=neighbors,
        )

    sender = start("one", "10.0.0.1")
    old = start("node", "10.0.0.2", "10.0.0.1:8050")
    simulation.run_until(lambda: sender.find_counter("Resolver cache").value == 1)
    publication = simulation.result(sender.connect().add_publication_async(CHANNEL, 1001))
    simulation.result(old.connect().add_subscription_async(CHANNEL, 1001))
    simulation.run_until(lambda: publication.is_connected)
    cut_off(simulation, old)

    new = start("node", "10.0.0.3", "10.0.0.1:8050")
    subscription = simulation.result(new.connect().add_subscription_async(CHANNEL, 1001))

    simulation.run_until(lambda: subscription.is_connected, within_ns=12 * S)
    assert sender.counted("resolution_changes") == 1
