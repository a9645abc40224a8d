"""Streams between our driver and the Java driver, of our and Java clients, in both directions."""

from __future__ import annotations

import errno
import socket

import pytest
from aeron_media._native.interfaces import list_interfaces
from parties import DIRECTIONS, THERE, exchange
from party_facts import await_true

from aeron_core.concurrent.loss_report import read_loss_report
from aeron_core.observation.driver_files import DriverFiles, open_loss_report

pytestmark = pytest.mark.interop

COUNT = 5000
#: The same stream of each publication.
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
MEASURED_RTT = {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"}
#: Cubic congestion control for all channels of a driver.
CUBIC = {
    "ours": {"AERON_CONGESTIONCONTROL_SUPPLIER": "aeron_cubic_congestion_control_strategy_supplier"},
    "java": {"congestion_control_supplier": "io.aeron.driver.ext.CubicCongestionControlSupplier"},
}
#: A sender and two receivers: each driver sends, to both kinds of driver.
MIXTURES = pytest.mark.parametrize(
    ("sender", "receivers"),
    [("java/java", "ours/ours"), ("java/ours", "java/java"), ("ours/ours", "java/java")],
)


@pytest.mark.compatible("UDP unicast {loss}", THERE)
@pytest.mark.parametrize("loss", [False, True], ids=["no loss", "5 % loss"])
@DIRECTIONS
def test_messages_arrive_at_another_driver(
    at, shared_drivers, udp_channel, stream_id, sender, receiver, loss
):
    subscription = at(receiver, loss=loss).subscription(udp_channel, stream_id)
    publication = at(sender, loss=loss).publication(udp_channel, stream_id)

    exchange(publication, subscription)

    if loss:
        directory = shared_drivers.directory(receiver.split("/")[1], loss=True)
        # Written when a gap is found, so before the retransmissions that filled it.
        assert bytes_lost(directory, stream_id) > 0


def bytes_lost(directory, stream_id) -> int:
    entries = read_loss_report(open_loss_report(directory))
    return sum(entry.total_bytes_lost for entry in entries if entry.stream_id == stream_id)


def loopback_has_multicast() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            member = socket.inet_aton("224.0.1.237") + socket.inet_aton("127.0.0.1")
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.ENOPROTOOPT):
                return False
            raise
        return True


@pytest.fixture(params=["IPv4", "IPv6"])
def group_channel(request, free_port) -> str:
    """Return a group on an interface with multicast."""
    if request.param == "IPv4":
        if not loopback_has_multicast():
            pytest.skip("the kernel has no multicast")
        return f"aeron:udp?endpoint=224.0.1.237:{free_port()}|interface=127.0.0.1"
    for one in list_interfaces():
        if one.address.family == socket.AF_INET6 and one.is_up and one.is_multicast:
            return f"aeron:udp?endpoint=[ff02::20:237]:{free_port()}|interface=[{one.address.host}]"
    pytest.skip("this machine has no interface for IPv6 multicast")


@pytest.mark.compatible("multicast", "{sender} → Java driver and our driver")
@MIXTURES
def test_a_group_receives_what_one_driver_sends(at, group_channel, stream_id, sender, receivers):
    subscriptions = [at(party).subscription(group_channel, stream_id) for party in (receivers, sender)]
    publication = at(sender).publication(f"{group_channel}|fc=min,g:/2", stream_id)

    exchange(publication, *subscriptions, count=COUNT)


@pytest.mark.compatible("dynamic MDC", "{sender} → Java driver and our driver")
@MIXTURES
def test_dynamic_mdc_sends_to_each_receiver(at, free_port, stream_id, sender, receivers):
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    publication = at(sender).publication(f"aeron:udp?{control}|fc=min,g:/2", stream_id)
    subscriptions = [
        at(party).subscription(f"aeron:udp?endpoint=127.0.0.1:0|{control}", stream_id)
        for party in (receivers, sender)
    ]

    exchange(publication, *subscriptions, count=COUNT)


@pytest.mark.compatible("manual MDC", "{sender} → Java driver and our driver")
@MIXTURES
def test_manual_mdc_sends_to_each_destination(at, free_port, stream_id, sender, receivers):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]
    subscriptions = [
        at(party).subscription(channel, stream_id)
        for party, channel in zip((receivers, sender), channels, strict=True)
    ]
    publication = at(sender).publication("aeron:udp?control-mode=manual|fc=min,g:/2", stream_id)
    removed = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    for channel in (removed, *channels):
        publication.add_destination(channel)
    publication.remove_destination(removed)

    exchange(publication, *subscriptions, count=COUNT)


@pytest.mark.compatible("MDS, two senders of one stream with loss", THERE)
@DIRECTIONS
def test_one_stream_of_two_senders_arrives_once(at, free_port, stream_id, sender, receiver):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]
    subscription = at(receiver, loss=True).subscription("aeron:udp?control-mode=manual", stream_id)
    for channel in channels:
        subscription.add_destination(channel)
    client = at(sender)
    publications = [client.publication(channel + START, stream_id, "exclusive") for channel in channels]

    check_one_stream(publications, subscription)


def check_one_stream(publications, subscription):
    for publication in publications:
        publication.await_connected()

    one, *others = publications
    sent = [other.send(COUNT) for other in others]
    exchange(one, subscription, count=COUNT)

    assert [other.result(120) for other in sent] == [str(COUNT)] * len(others)
    assert len(subscription.images) == 1


@pytest.mark.compatible("MDS of a group, an address and a named sender, with loss", THERE)
@DIRECTIONS
def test_one_stream_of_three_kinds_of_destinations_arrives_once(at, free_port, stream_id, sender, receiver):
    if not loopback_has_multicast():
        pytest.skip("the kernel has no multicast")
    group = f"aeron:udp?endpoint=224.0.1.237:{free_port()}|interface=127.0.0.1"
    unicast, named = (f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2))
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    client = at(sender)
    subscription = at(receiver, loss=True).subscription("aeron:udp?control-mode=manual", stream_id)
    publications = [
        client.publication(channel + START, stream_id, "exclusive")
        for channel in (group, unicast, f"aeron:udp?{control}")
    ]

    for channel in (group, unicast, f"{named}|{control}"):
        subscription.add_destination(channel)

    check_one_stream(publications, subscription)


@pytest.mark.compatible("tagged flow control, of a group of two", THERE)
@DIRECTIONS
def test_a_sender_is_connected_when_the_tagged_group_has_its_minimum(
    at, free_port, stream_id, sender, receiver
):
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    publication = at(sender).publication(f"aeron:udp?{control}|fc=tagged,g:7/2,t:5s", stream_id)
    untagged, first = (
        at(receiver).subscription(
            f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}|gtag={tag}", stream_id
        )
        for tag in (8, 7)
    )
    untagged.await_images(1)
    first.await_images(1)
    is_connected_early = publication.is_connected

    # The second receiver of the group is at the sender's own driver.
    second = at(sender).subscription(
        f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}|gtag=7", stream_id
    )
    second.await_images(1)

    assert not is_connected_early
    exchange(publication, first, second, count=500)


@pytest.mark.compatible("cubic congestion control, by {by}", THERE)
@pytest.mark.parametrize("by", ["channel", "setting"])
@DIRECTIONS
def test_a_cubic_receiver_measures_the_round_trip_to_a_sender(
    further_drivers, at, clients, tmp_path, udp_channel, stream_id, sender, receiver, by
):
    client, driver = receiver.split("/")
    start = further_drivers.start_ours if driver == "ours" else further_drivers.start_java
    # The JVM measures the round trip for all its drivers: this is a constant of theirs.
    settings = MEASURED_RTT if driver == "ours" else {}
    directory = start(tmp_path / "receiver", **settings, **(CUBIC[driver] if by == "setting" else {}))
    channel = udp_channel if by == "setting" else f"{udp_channel}|cc=cubic"
    subscription = clients(client, directory).subscription(channel, stream_id)
    publication = at(sender).publication(udp_channel, stream_id)

    exchange(publication, subscription)

    def value(prefix):
        return next((r.value for r in DriverFiles.open(directory).counters if r.label.startswith(prefix)), 0)

    await_true(lambda: 1_000 < value("rcv-cc-cubic-rtt") < 1_000_000_000, "the round-trip time")
    assert value("rcv-cc-cubic-wnd") > 0
    assert value("rcv-cc-cubic-wnd") % 1408 == 0


@pytest.mark.compatible("image rejected, manual MDC", "{sender} is notified which destination has rejected")
@DIRECTIONS
def test_a_publisher_is_notified_which_destination_has_rejected(at, free_port, stream_id, sender, receiver):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in range(2)]
    publisher = at(sender)
    subscriptions = [at(receiver).subscription(channel, stream_id) for channel in channels]
    publication = publisher.publication("aeron:udp?control-mode=manual", stream_id)
    for channel in channels:
        publication.add_destination(channel)
    for subscription in subscriptions:
        subscription.await_images(1)

    ids = set()
    for subscription in subscriptions:
        subscription.reject("not wanted")
        ids.add(publisher.await_rejection().destination_id)

    assert len(ids) == 2
    assert -1 not in ids
