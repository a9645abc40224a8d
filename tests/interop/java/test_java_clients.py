"""The Java client at our driver, and our client at the Java driver."""

from __future__ import annotations

import pytest
from java_client import JavaClient
from parties import exchange
from party_facts import await_true

from aeron_core.errors import ErrorCode

pytestmark = pytest.mark.interop

UNTETHERED = "untethered-window-limit-timeout=1s|untethered-linger-timeout=1s|untethered-resting-timeout=1s"
MIXTURES = [
    ("ours", "java", "java"),
    ("ours", "java", "ours"),
    ("ours", "ours", "java"),
    ("java", "ours", "ours"),
    ("java", "java", "ours"),
    ("java", "ours", "java"),
]
of_three = pytest.mark.parametrize(("driver", "sender", "receiver"), MIXTURES)


@pytest.mark.compatible("{medium}, {kind} publication", "{sender} → {driver_driver} → {receiver}")
@pytest.mark.parametrize("kind", ["concurrent", "exclusive"])
@pytest.mark.parametrize("medium", ["ipc", "udp"])
@of_three
def test_messages_and_their_fragments_arrive(
    at, udp_channel, stream_id, driver, sender, receiver, medium, kind
):
    channel = "aeron:ipc" if medium == "ipc" else udp_channel
    subscription = at(f"{receiver}/{driver}").subscription(channel, stream_id)
    publication = at(f"{sender}/{driver}").publication(channel, stream_id, kind)

    exchange(publication, subscription)


@pytest.mark.compatible("spies, alone (ssc)", "{sender} → {driver_driver} → {receiver}")
@of_three
def test_a_spy_alone_reads_all_that_is_published(at, udp_channel, stream_id, driver, sender, receiver):
    spy = at(f"{receiver}/{driver}").subscription(f"aeron-spy:{udp_channel}")
    publication = at(f"{sender}/{driver}").publication(f"{udp_channel}|ssc=true")

    exchange(publication, spy)


@pytest.mark.compatible("spies, beside a receiver", "{sender} → {driver_driver} → {receiver}")
@of_three
def test_a_spy_and_a_receiver_read_the_same(at, udp_channel, stream_id, driver, sender, receiver):
    spy = at(f"{receiver}/{driver}").subscription(f"aeron-spy:{udp_channel}")
    subscription = at(f"{receiver}/{'java' if driver == 'ours' else 'ours'}").subscription(udp_channel)
    # The spy alone must not connect the publication: the receiver, which joins at position 0, would be too far behind.
    publication = at(f"{sender}/{driver}").publication(f"{udp_channel}|ssc=false")
    spy.await_images(1)
    subscription.await_images(1)

    exchange(publication, spy, subscription, count=5000)


@pytest.mark.compatible("MDS of UDP, IPC and a spy", "{client}, {driver_driver}")
@pytest.mark.parametrize(("client", "driver"), [("java", "ours"), ("ours", "java")])
def test_destinations_of_one_subscription_are_udp_ipc_and_a_spy(at, free_port, stream_id, client, driver):
    one, other = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2))
    connected = at(f"{client}/{driver}")
    subscription = connected.subscription("aeron:udp?control-mode=manual", stream_id)
    for channel in (one, "aeron:ipc", f"aeron-spy:{other}"):
        subscription.add_destination(channel)

    received, expected = [], []
    for channel in (one, "aeron:ipc", f"{other}|ssc=true"):
        publication = connected.publication(channel, stream_id)
        publication.offer(channel)
        expected.append((publication.session_id, channel))
        received.append(subscription.receive_one())

    assert received == expected
    # UDP last: the Java driver takes the first of its links with the subscription's id, which may be that of IPC or the
    # spy after another subscription has ended. Source: DriverConductor.java, RemoveRcvNetworkDestinationCommand.
    for channel in (f"aeron-spy:{other}", "aeron:ipc", one):
        subscription.remove_destination(channel)


@pytest.mark.compatible("untethered subscription", "Java client, {driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "java"])
def test_an_untethered_java_client_that_stalls_is_detached_and_rejoins(at, stream_id, driver):
    client = at(f"java/{driver}")
    reader = client.subscription("aeron:ipc", stream_id)
    stalled = client.subscription("aeron:ipc?tether=false", stream_id)
    publication = client.publication(f"aeron:ipc?{UNTETHERED}", stream_id)

    exchange(publication, reader, count=5000)
    stalled.await_events(available=2, unavailable=1)

    assert reader.images[0].position == publication.position


@pytest.mark.compatible("image rejected, IPC", "{receiver} rejects, {sender} is notified, {driver_driver}")
@pytest.mark.parametrize(
    ("driver", "sender", "receiver"),
    [
        ("ours", "java", "java"),
        ("ours", "java", "ours"),
        ("ours", "ours", "java"),
        ("java", "java", "ours"),
        ("java", "ours", "java"),
        ("java", "ours", "ours"),
    ],
)
def test_an_ipc_publisher_is_notified_of_a_rejection(at, stream_id, driver, sender, receiver):
    publisher = at(f"{sender}/{driver}")
    subscription = at(f"{receiver}/{driver}").subscription("aeron:ipc", stream_id)
    publication = publisher.publication("aeron:ipc", stream_id)
    subscription.await_images(1)

    subscription.reject("not wanted")

    rejection = publisher.await_rejection()
    assert (rejection.registration_id, rejection.stream_id) == (publication.registration_id, stream_id)
    assert (rejection.error_code, rejection.reason) == (ErrorCode.IMAGE_REJECTED, "not wanted")


@pytest.mark.compatible("image rejected, UDP unicast", "{receiver} rejects, {sender} is notified")
@pytest.mark.parametrize("reason", ["", "not wanted", "x" * 900])
@pytest.mark.parametrize(
    ("sender", "receiver"),
    [
        ("java/ours", "java/java"),
        ("java/java", "java/ours"),
        ("java/java", "ours/ours"),
        ("ours/ours", "java/java"),
    ],
)
def test_a_publisher_at_another_driver_is_notified_of_a_rejection(at, udp_channel, sender, receiver, reason):
    publisher = at(sender)
    subscription = at(receiver).subscription(udp_channel)
    publication = publisher.publication(udp_channel)
    subscription.await_images(1)
    publication.await_connected()

    subscription.reject(reason)

    rejection = publisher.await_rejection()
    assert rejection.registration_id == publication.registration_id
    assert (rejection.error_code, rejection.host, rejection.reason) == (
        ErrorCode.IMAGE_REJECTED,
        "127.0.0.1",
        reason,
    )


@pytest.mark.compatible("counters", "Java client, our driver")
def test_our_client_reads_the_counter_of_a_java_client(at):
    java, ours = at("java/ours"), at("ours/ours")

    counter = java.add_counter(1077, b"the key", "a counter of Java")
    counter.call("set-counter", 4711)

    facts = counter.facts()
    record = next(r for r in ours.aeron.counters_reader if r.id == facts["id"])
    assert (record.type_id, record.label, record.value) == (1077, "a counter of Java", 4711)
    assert record.key.rstrip(b"\0") == b"the key"
    assert (record.owner_id, record.registration_id) == (java.facts()["client_id"], facts["registration_id"])

    counter.close()

    await_true(lambda: "a counter of Java" not in java.counters(), "the release of the counter")


@pytest.mark.compatible("counters", "our client, our driver → Java client")
def test_a_java_client_reads_the_counter_of_our_client(at):
    java, ours = at("java/ours"), at("ours/ours")

    counter = ours.aeron.add_counter(1078, b"key", "a counter of ours")
    counter.value = -5

    found = java.counters()["a counter of ours"]
    assert (found.type_id, found.value, found.owner_id) == (1078, -5, ours.aeron.client_id)
    assert found.registration_id == counter.registration_id


@pytest.mark.compatible("counters, static", "Java client, our driver")
def test_a_static_counter_outlives_its_java_client(java, shared_drivers, at):
    client = JavaClient(java, shared_drivers.directory("ours"))
    client.add_static_counter(1079, b"static", "a static counter", 99).call("set-counter", 3)

    client.close()

    found = at("java/ours").counters()["a static counter"]
    assert (found.type_id, found.value, found.registration_id) == (1079, 3, 99)


@pytest.mark.compatible("counters, system", "our driver → Java client")
def test_a_java_client_reads_our_system_counters(at):
    ours = at("java/ours").counters()
    theirs = at("java/java").counters()

    def system(counters):
        # Some labels end with the version or the threading mode; the C driver, like ours, names an agent of its own.
        return {
            found.counter_id: label.split(":")[0].replace("NativeResourceAgent", "AsyncExecutor")
            for label, found in counters.items()
            if found.type_id == 0
        }

    assert system(ours) == system(theirs)


@pytest.mark.compatible("terminate, denied by default", "Java client, our driver")
def test_our_driver_denies_a_termination_that_a_java_client_requests(at, java, shared_drivers, udp_channel):
    client = at("java/ours")

    assert java.call("terminate", shared_drivers.directory("ours"), "token") == "true"

    # Commands are executed in order.
    assert client.publication(udp_channel).registration_id
