"""Subscriptions with control-mode=manual, which receive at several addresses."""

import pytest

from aeron_core.concurrent import counter_types
from aeron_core.errors import ErrorCode, RegistrationError
from aeron_core.protocol.frames.nak import Nak
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import Feed, SimulatedLink, SimulatedPeer, Simulation, Sink, frames_of, make_messages
from aeron_core.testing.pair import MS, S

MANUAL = "aeron:udp?control-mode=manual"
ONE, OTHER = "aeron:udp?endpoint=10.0.0.2:20121", "aeron:udp?endpoint=10.0.0.2:20122"
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"


@pytest.fixture
def mds(pair):
    return pair.add_subscription(MANUAL, 1001)


def add(pair, subscription, *channels):
    for channel in channels:
        pair.result(subscription.add_destination_async(channel))


def remove(pair, subscription, channel):
    pair.result(subscription.remove_destination_async(channel))


def refused(pair, registration):
    pair.run_until(lambda: registration.is_done)
    with pytest.raises(RegistrationError) as raised:
        registration.poll()
    return raised.value.code


def twins(pair):
    """Two publications of one stream that differ only in their destination."""
    return [pair.add_exclusive_publication(channel + START, 1001) for channel in (ONE, OTHER)]


def test_a_stream_is_received_at_a_destination(pair, mds):
    add(pair, mds, ONE)
    feed = Feed(pair.add_publication(ONE, 1001), make_messages(500, seed=1, max_length=4096))
    sink = Sink(mds)

    pair.run_until(lambda: feed.offer() + sink.poll() == 0 and len(sink.all) == 500)

    assert sink.all == feed.messages
    assert mds.images[0].source_identity.startswith("10.0.0.1:")


def test_streams_of_several_destinations_are_images_of_one_subscription(pair, mds):
    add(pair, mds, ONE, OTHER)
    publications = [pair.add_publication(channel, 1001) for channel in (ONE, OTHER)]

    pair.run_until(lambda: len(mds.images) == 2)

    assert {i.session_id for i in mds.images} == {p.session_id for p in publications}


def test_each_destination_publishes_its_address_with_the_id_of_the_subscription(pair, mds):
    add(pair, mds, ONE, OTHER)

    records = pair.receiver.find_counters("rcv-local-sockaddr")

    assert [record.label.split()[-1] for record in records] == ["10.0.0.2:20121", "10.0.0.2:20122"]
    assert {record.registration_id for record in records} == {mds.registration_id}
    assert {record.type_id for record in records} == {counter_types.LOCAL_SOCKADDR}
    assert mds.local_addresses() == ["10.0.0.2:20121", "10.0.0.2:20122"]


def test_a_stream_received_twice_is_one_image_without_duplicates(pair, mds):
    add(pair, mds, ONE, OTHER)
    sink = Sink(mds)
    feeds = [Feed(twin, make_messages(500, seed=1, max_length=2048)) for twin in twins(pair)]

    pair.run_until(lambda: sum(f.offer() for f in feeds) + sink.poll() == 0 and all(f.is_done for f in feeds))
    pair.run_for(1 * S, each=sink.poll)

    assert sink.all == feeds[0].messages
    assert len(mds.images) == 1
    assert mds.images[0].active_transport_count == 2


@pytest.mark.parametrize("lost", [0, 1])
def test_data_lost_at_one_destination_arrives_at_the_other(pair, mds, lost):
    add(pair, mds, ONE, OTHER)
    sink = Sink(mds)
    feeds = [Feed(twin, make_messages(200, seed=1, max_length=2048)) for twin in twins(pair)]
    pair.run_until(lambda: all(feed.publication.is_connected for feed in feeds))
    pair.network.set_link(SimulatedLink(loss=1), destination=f"10.0.0.2:{(20121, 20122)[lost]}")

    pair.run_until(lambda: sum(f.offer() for f in feeds) + sink.poll() == 0 and len(sink.all) == 200)

    assert sink.all == feeds[0].messages


def test_a_gap_is_requested_from_the_senders_of_all_destinations(pair, mds):
    add(pair, mds, ONE, OTHER)
    sink = Sink(mds)
    one, other = twins(pair)
    pair.run_until(lambda: one.is_connected and other.is_connected)
    pair.network.set_link(SimulatedLink(loss=1), destination=pair.RECEIVER)
    for twin in (one, other):
        twin.offer(b"lost")
    pair.run_for(1 * MS)
    pair.network.set_link(SimulatedLink(), destination=pair.RECEIVER)
    for twin in (one, other):
        twin.offer(b"after")

    pair.run_until(lambda: sink.poll() == 0 and len(sink.all) == 2)

    assert sink.all == [b"lost", b"after"]
    asked = {line.destination for line in pair.network.log if frames_of(Nak, [line.data])}
    assert len(asked) == 2


def test_status_messages_go_to_each_sender_until_it_is_inactive(pair, mds):
    add(pair, mds, ONE, OTHER)
    one, other = twins(pair)
    pair.run_until(lambda: one.is_connected and other.is_connected)
    pair.network.set_link(SimulatedLink(loss=1), destination="10.0.0.2:20122")
    pair.run_for(6 * S)
    assert mds.images[0].active_transport_count == 1
    before = len(pair.network.log)

    pair.run_for(2 * S)

    targets = {
        line.destination for line in pair.network.log[before:] if frames_of(StatusMessage, [line.data])
    }
    assert len(targets) == 1
    assert one.is_connected


def test_an_image_ends_when_its_stream_has_ended_at_all_destinations(pair, mds):
    add(pair, mds, ONE, OTHER)
    one, other = twins(pair)
    pair.run_until(lambda: one.is_connected and other.is_connected)

    one.close()
    pair.run_for(3 * S)
    assert len(mds.images) == 1
    assert not mds.images[0].is_end_of_stream

    other.close()
    pair.run_until(lambda: not mds.images)


def test_a_destination_added_later_receives_for_an_existing_image(pair, mds):
    add(pair, mds, ONE)
    sink = Sink(mds)
    feeds = [Feed(twin, make_messages(400, seed=1, max_length=1024)) for twin in twins(pair)]
    pair.run_until(lambda: feeds[0].publication.is_connected)
    assert not feeds[1].publication.is_connected

    add(pair, mds, OTHER)
    pair.run_until(lambda: feeds[1].publication.is_connected)
    remove(pair, mds, ONE)
    pair.run_until(lambda: feeds[1].offer() + sink.poll() == 0 and len(sink.all) == 400)

    assert sink.all == feeds[1].messages
    assert len(mds.images) == 1
    pair.run_until(lambda: not feeds[0].publication.is_connected)


def test_a_removed_destination_frees_its_address(pair, mds):
    add(pair, mds, ONE, OTHER)

    remove(pair, mds, ONE)

    pair.run_until(lambda: len(pair.receiver.find_counters("rcv-local-sockaddr")) == 1)
    assert mds.local_addresses() == ["10.0.0.2:20122"]
    add(pair, mds, ONE)
    publication = pair.add_publication(ONE, 1001)
    pair.run_until(lambda: publication.is_connected)


def test_a_destination_with_a_chosen_port_is_removed_by_its_uri(pair, mds):
    add(pair, mds, "aeron:udp?endpoint=10.0.0.2:0")
    assert len(mds.local_addresses()) == 1

    remove(pair, mds, "aeron:udp?endpoint=10.0.0.2:0")

    pair.run_until(lambda: not pair.receiver.find_counters("rcv-local-sockaddr"))


def test_nothing_is_left_of_a_closed_subscription(pair, mds):
    add(pair, mds, ONE, OTHER, "aeron:ipc")
    publication = pair.add_publication(ONE, 1001)
    pair.run_until(lambda: publication.is_connected)

    mds.close()
    pair.run_for(15 * S)

    assert pair.receiver.find_counters("rcv-") == pair.receiver.find_counters("sub-pos") == []
    assert pair.receiver.log_files() == []
    again = pair.add_subscription(ONE, 1001)
    pair.run_until(lambda: again.is_connected)


LOCAL = "aeron:udp?endpoint=127.0.0.1:20121"


@pytest.mark.parametrize(
    ("destination", "channel"), [("aeron:ipc", "aeron:ipc"), ("aeron-spy:" + LOCAL, LOCAL + "|ssc=true")]
)
@pytest.mark.parametrize("destination_comes_first", [True, False])
def test_shared_memory_and_spies_are_destinations_too(lone, destination, channel, destination_comes_first):
    gone = []
    subscription = lone.add_subscription(MANUAL, 1001, on_unavailable_image=gone.append)
    if destination_comes_first:
        add(lone, subscription, destination)
        publication = lone.add_publication(channel, 1001)
    else:
        publication = lone.add_publication(channel, 1001)
        add(lone, subscription, destination)
    sink = Sink(subscription)
    lone.run_until(lambda: publication.is_connected and subscription.is_connected)
    publication.offer(b"beside")
    lone.run_until(lambda: sink.poll() == 0 and sink.all == [b"beside"])

    remove(lone, subscription, destination)

    lone.run_until(lambda: gone and not publication.is_connected)
    assert not subscription.is_connected
    assert lone.driver.find_counters("sub-pos") == []


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ("aeron:udp?endpoint=10.0.0.2:20121|so-rcvbuf=1m", ErrorCode.INVALID_CHANNEL),
        ("aeron:udp?endpoint=10.0.0.2:20121|mtu=8k", ErrorCode.INVALID_CHANNEL),
        ("aeron:udp?endpoint=10.0.0.2:20121|control-mode=response", ErrorCode.INVALID_CHANNEL),
        ("aeron:udp?mtu=8k", ErrorCode.INVALID_CHANNEL),
        ("aeron-spy:aeron:ipc", ErrorCode.INVALID_CHANNEL),
        ("aeron:ipc?tether=x", ErrorCode.GENERIC_ERROR),
        ("not a channel", ErrorCode.INVALID_CHANNEL),
    ],
)
def test_an_invalid_receive_destination_is_refused(pair, mds, channel, code):
    assert refused(pair, mds.add_destination_async(channel)) is code
    assert pair.receiver.find_counters("rcv-local-sockaddr") == []


@pytest.mark.parametrize(
    "channel",
    [
        "aeron:ipc?control-mode=response",
        "aeron:ipc?response-correlation-id=5|mtu=8k",
        "aeron-spy:aeron:udp?endpoint=10.0.0.2:20121|control-mode=response|so-rcvbuf=1m",
    ],
)
def test_socket_and_response_parameters_of_a_destination_without_a_socket_are_ignored(pair, mds, channel):
    pair.result(mds.add_destination_async(channel))
    publication = pair.result(
        pair.subscriber.add_publication_async(channel.removeprefix("aeron-spy:").partition("|")[0], 1001)
    )

    pair.run_until(lambda: mds.images)

    assert mds.images[0].session_id == publication.session_id


@pytest.mark.parametrize("verb", ["add_destination_async", "remove_destination_async"])
def test_a_subscription_to_one_address_accepts_no_destinations(pair, verb):
    subscription = pair.add_subscription(ONE, 1001)

    assert refused(pair, getattr(subscription, verb)(OTHER)) is ErrorCode.INVALID_CHANNEL


def test_destinations_of_an_unknown_subscription_are_refused(pair, mds):
    ipc = pair.add_subscription("aeron:ipc", 1001)

    assert refused(pair, ipc.add_destination_async(ONE)) is ErrorCode.UNKNOWN_SUBSCRIPTION
    assert refused(pair, mds.remove_destination_async("aeron:ipc")) is ErrorCode.UNKNOWN_SUBSCRIPTION
    remove(pair, mds, ONE)


def test_a_destination_at_an_address_in_use_is_refused(pair, mds):
    pair.add_subscription(ONE, 1001)

    assert refused(pair, mds.add_destination_async(ONE)) is ErrorCode.GENERIC_ERROR
    assert pair.receiver.find_counters("rcv-local-sockaddr: ")[0].registration_id != mds.registration_id


def test_two_senders_of_one_stream_on_two_hosts_are_one_image(memory_path):
    with Simulation(
        memory_path, seed=4, link=SimulatedLink(loss=0.05, duplication=0.02, reordering=0.1)
    ) as simulation:
        senders = [simulation.add_driver(host).connect() for host in ("10.0.0.1", "10.0.0.3")]
        client = simulation.add_driver("10.0.0.2").connect()
        subscription = simulation.result(client.add_subscription_async(MANUAL, 1001))
        add(simulation, subscription, ONE, OTHER)
        feeds = [
            Feed(
                simulation.result(sender.add_exclusive_publication_async(channel + START, 1001)),
                make_messages(1000, seed=1, max_length=2048),
            )
            for sender, channel in zip(senders, (ONE, OTHER), strict=True)
        ]
        sink = Sink(subscription)

        simulation.run_until(
            lambda: sum(f.offer() for f in feeds) + sink.poll() == 0 and len(sink.all) >= 1000,
            within_ns=60 * S,
        )
        simulation.run_for(1 * S, each=sink.poll)

        assert sink.all == feeds[0].messages
        assert len(subscription.images) == 1


def test_the_addresses_of_destinations_are_free_after_the_driver_has_ended(pair, mds):
    add(pair, mds, ONE, OTHER)
    remove(pair, mds, OTHER)

    pair.receiver.close()

    for port in (20121, 20122):
        SimulatedPeer(pair.network, "10.0.0.2", port, ("10.0.0.1", 1))
