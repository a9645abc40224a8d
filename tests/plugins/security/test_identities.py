"""Streams between hosts with identities, over a simulated network."""

import subprocess
import sys

import pytest
from hosts import DYNAMIC, MULTICAST, PRIVATE, SECURED, flow, messages_of, value

from aeron_core.testing import SimulatedLink, Simulation
from aeron_core.testing.pair import MS, S


@pytest.mark.parametrize("cipher", ["aes-128-gcm", "chacha20-poly1305"])
def test_a_stream_flows_after_a_handshake(start_pair, identities, cipher):
    identities.options["cipher"] = cipher
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)

    flow(pair, publication, [subscription], messages_of(200))
    pair.run_for(1200 * MS)

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
    assert pair.sender.errors() == pair.receiver.errors() == []
    assert value(pair.sender, "handshakes") >= 1
    assert value(pair.receiver, "handshakes") >= 1


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_stream_flows_to_dynamic_destinations(start_pair, loss):
    pair = start_pair(link=SimulatedLink(loss=loss))
    three = pair.add_driver("10.0.0.3")
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc=min,g:/3", 1001)
    subscriptions = [
        pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:{port}|{DYNAMIC}", 1001)
        for port in (20001, 20002)
    ]
    channel = f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}"
    subscriptions.append(pair.result(three.connect().add_subscription_async(channel, 1001)))

    flow(pair, publication, subscriptions, messages_of(300))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
    assert [driver.errors() for driver in pair.drivers] == [[]] * 3


def test_a_stream_flows_to_manual_destinations(start_pair):
    pair = start_pair()
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders|fc=min,g:/2", 1001)
    subscriptions = [
        pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:{port}|security=orders", 1001)
        for port in (20001, 20002)
    ]
    for port in (20001, 20002):
        pair.result(publication.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))

    flow(pair, publication, subscriptions, messages_of(300))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_multicast_stream_flows_to_several_receivers(start_pair, loss):
    pair = start_pair(link=SimulatedLink(loss=loss))
    three = pair.add_driver("10.0.0.3").connect()
    subscriptions = [pair.add_subscription(MULTICAST, 1001)]
    subscriptions.append(pair.result(three.add_subscription_async(MULTICAST, 1001)))
    publication = pair.add_publication(f"{MULTICAST}|fc=min,g:/2", 1001)

    flow(pair, publication, subscriptions, messages_of(300))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)
    assert [driver.errors() for driver in pair.drivers] == [[]] * 3


def test_a_subscription_receives_at_several_destinations(start_pair):
    pair = start_pair()
    three = pair.add_driver("10.0.0.3").connect()
    subscription = pair.add_subscription("aeron:udp?control-mode=manual|security=orders", 1001)
    for port in (20001, 20002):
        pair.result(subscription.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}|security=orders"))
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders", 1001)
    for port in (20001, 20002):
        pair.result(publication.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))
    other = pair.result(
        three.add_publication_async("aeron:udp?endpoint=10.0.0.2:20002|security=orders", 1001)
    )

    flow(pair, publication, [subscription], messages_of(300))
    pair.run_until(lambda: other.is_connected and subscription.image_count == 2)

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


def test_a_response_channel_is_sealed(start_pair):
    pair = start_pair()
    server = pair.receiver.connect()
    requests = pair.result(server.add_subscription_async(SECURED, 1001))
    control = "aeron:udp?control-mode=response|control=10.0.0.2:20200|security=orders"
    answers = pair.result(pair.publisher.add_subscription_async(control, 1002))
    request = pair.result(
        pair.publisher.add_publication_async(
            f"{SECURED}|response-correlation-id={answers.registration_id}", 1001
        )
    )
    pair.run_until(lambda: request.is_connected and requests.images)
    correlation_id = requests.images[0].correlation_id
    answer = pair.result(
        server.add_publication_async(f"{control}|response-correlation-id={correlation_id}", 1002)
    )

    flow(pair, answer, [answers], messages_of(100))

    assert all(line.data[:4] == b"AeSU" for line in pair.network.log)


# A RES frame with one short name is the shortest frame with which a peer begins.
@pytest.mark.parametrize("prefix", ["node-", ""])
def test_drivers_exchange_names_in_sealed_datagrams(tmp_path, identities, prefix):
    with Simulation(tmp_path, idle_step_ns=5 * MS) as simulation:
        names = ("one", "two", "three")
        drivers = [
            simulation.add_driver(
                f"10.0.0.{number}",
                name_resolver="driver",
                resolver_name=f"{prefix}{number}",
                resolver_interface=f"10.0.0.{number}:8050",
                resolver_bootstrap_neighbors=(f"10.0.0.{max(number - 1, 1)}:8050",),
                security_profiles=identities.profiles(name, *names),
                resolver_security="orders",
            )
            for number, name in enumerate(names, 1)
        ]

        simulation.run_until(
            lambda: all(driver.find_counter("Resolver cache entries").value == 2 for driver in drivers),
            within_ns=30 * S,
        )

        assert all(line.data[:4] == b"AeSU" for line in simulation.network.log)
        assert not any(b"node-" in line.data for line in simulation.network.log)


def test_a_group_of_many_receivers_agrees_on_keys_and_again_after_one_is_removed(start_pair, identities):
    pair = start_pair()
    count = 80
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc=min,g:/{count}", 1001)
    subscriptions = [
        pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:{20001 + number}|{DYNAMIC}", 1001)
        for number in range(count)
    ]
    leaves = pair.add_driver("10.0.0.3").connect()
    pair.result(leaves.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001))
    flow(pair, publication, subscriptions, messages_of(20))
    pair.run_until(lambda: value(pair.sender, "handshakes") >= count + 1)

    identities.allow("one", "two")
    pair.run_for(600 * MS)
    flow(pair, publication, subscriptions, messages_of(20))
    pair.run_for(1 * S)  # counters are set each second
    assert value(pair.sender, "rekeys") == 1

    # Counters are set each second.
    pair.run_until(lambda: value(pair.sender, "rekeys") == 1)


def test_the_event_log_has_frames_and_neither_keys_nor_handshakes(start_pair, tmp_path):
    log = tmp_path / "events.log"
    pair = start_pair(event_log="all", event_log_filename=str(log))
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(5))
    for driver in pair.drivers:
        driver.close()  # which writes the rest of the log
    pair.drivers.clear()

    text = log.read_text(encoding="utf-8")
    assert "SETUP" in text
    assert "AeSU" not in text
    assert not any(key.hex() in text for key in PRIVATE.values())


def test_a_driver_that_uses_no_identities_does_not_import_cryptography(key_file):
    program = f"""
import sys, aeron_core
with aeron_core.MediaDriver.launch_embedded(
    {{"security_profiles": {{"orders": {{"secret_file": {key_file()!r}}}}}}}
) as driver, aeron_core.connect(driver.aeron_dir) as aeron:
    aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0|security=orders", 1001)
print([name for name in sys.modules if "cryptography" in name or name.startswith("aeron_security.")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "aeron_security.group_secret" in done.stdout
    assert "cryptography" not in done.stdout
    assert "aeron_security.identities" not in done.stdout
