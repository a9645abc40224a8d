"""Streams between our driver and the Java driver, of our and Java clients, in both directions."""

from __future__ import annotations

import errno
import socket

import pytest
from aeron_media._native.interfaces import list_interfaces
from parties import DIRECTIONS, THERE, exchange

from aeron_core.cli.tools.driver_files import DriverFiles, open_loss_report
from aeron_core.concurrent.loss_report import read_loss_report

pytestmark = pytest.mark.interop

COUNT = 5000
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
    start = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
    client = at(sender)
    one, other = (client.publication(channel + start, stream_id, "exclusive") for channel in channels)
    for publication in (one, other):
        publication.await_connected()

    sent = other.send(COUNT)
    exchange(one, subscription, count=COUNT)

    assert sent.result(120) == str(COUNT)
    assert len(subscription.images) == 1


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


@pytest.mark.compatible("cubic congestion control, by channel", THERE)
@DIRECTIONS
def test_a_stream_with_cubic_congestion_control_arrives(
    at, shared_drivers, udp_channel, stream_id, sender, receiver
):
    subscription = at(receiver).subscription(f"{udp_channel}|cc=cubic", stream_id)
    publication = at(sender).publication(udp_channel, stream_id)

    exchange(publication, subscription)

    files = DriverFiles.open(shared_drivers.directory(receiver.split("/")[1]))
    windows = [record.value for record in files.counters if record.label.startswith("rcv-cc-cubic-wnd")]
    assert windows
    assert all(window > 0 for window in windows)


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
