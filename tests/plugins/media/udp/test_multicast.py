"""Multicast: data is sent to one group, frames of receivers to the next address."""

import errno
import socket
import time

import pytest
from aeron_media._native.interfaces import list_interfaces
from aeron_media.udp.sockets import open_datagrams

from aeron_core._native.address import SocketAddress
from aeron_core.protocol.frames import Nak, StatusMessage
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing import DatagramProbe, data_frame, encode_frame

URI = "aeron:udp?endpoint=224.0.1.1:20121|interface=127.0.0.1"
GROUP = SocketAddress.of("224.0.1.1", 20121)
CONTROL = SocketAddress.of("224.0.1.2", 20121)
IDS = {"session_id": 7, "stream_id": 1001}
DEADLINE_S = 60


def test_data_reaches_every_member_of_the_group(lab, stream):
    lab.open_receive(URI)
    receiver = lab.open_receive(URI)
    sender = lab.open_send(URI)

    sender.send(stream, [(data_frame(b"x"), 64)])
    receiver.poll()

    (call,) = lab.dispatcher.calls
    assert call.data == data_frame(b"x")


def test_frames_of_receivers_are_sent_to_the_next_group(lab, stream):
    receiver = lab.open_receive(URI)
    sender = lab.open_send(URI)
    sender.add_stream(stream)
    elsewhere = SocketAddress.of("10.9.9.9", 5)

    receiver.send_status_message(StatusMessage(**IDS, receiver_window=4096), elsewhere)
    receiver.send_nak(Nak(**IDS, term_offset=64, length=32), elsewhere)

    assert sender.poll() == 2
    assert [call.kind for call in stream.calls] == ["status_message", "nak"]


def test_a_receiver_does_not_receive_frames_of_other_receivers(lab):
    one, other = lab.open_receive(URI), lab.open_receive(URI)

    one.send_status_message(StatusMessage(**IDS, receiver_window=4096), CONTROL)

    assert other.poll() == 0


def test_a_sender_receives_at_its_reported_local_address(lab, stream):
    sender = lab.open_send(URI)
    sender.add_stream(stream)
    peer = lab.open_socket(5000)

    lab.send_to(peer, CONTROL, encode_frame(StatusMessage(**IDS, receiver_window=4096)))

    assert sender.poll() == 1
    assert lab.address_of(sender).port == CONTROL.port


def test_closing_a_sender_leaves_both_of_its_sockets(lab, stream):
    sender = lab.open_send(URI)

    lab.transport.close_endpoint(sender.endpoint)

    with pytest.raises(OSError, match="closed"):
        sender.send(stream, [(data_frame(b"x"), 64)])
    with pytest.raises(OSError, match="closed"):
        sender.poll()


@pytest.fixture
def group():
    """A multicast group on the loopback interface, and a function that opens sockets for it."""
    probes = []
    address = SocketAddress.of("224.0.1.201", 24551)

    def open_one(bind=address, **options):
        options = {"interface": SocketAddress.of("127.0.0.1", 0), "interface_index": 1, **options}
        probes.append(DatagramProbe(open_datagrams(DatagramOptions(bind, **options))))
        return probes[-1]

    yield address, open_one
    for probe in probes:
        probe.channel.close()


def await_datagrams(probe, count):
    found, deadline = [], time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < deadline:
        for slot in probe.receive():
            found += slot.datagrams
    return found


def find_interface(family):
    """Return an interface: loopback for IPv4; for IPv6 one with a multicast route, which loopback rarely has."""
    for one in list_interfaces():
        is_wanted = one.is_loopback if family == socket.AF_INET else one.is_multicast
        if one.address.family == family and one.is_up and is_wanted:
            return one
    pytest.skip("this machine has no interface for IPv6 multicast")


@pytest.mark.parametrize("uses_gso", [False, True])
@pytest.mark.parametrize(
    ("family", "text"), [(socket.AF_INET, "224.0.1.201"), (socket.AF_INET6, "ff02::20:201")]
)
def test_the_kernel_brings_data_to_all_that_joined(group, family, text, uses_gso):
    _, open_one = group
    interface = find_interface(family)
    index = socket.if_nametoindex(interface.name)
    to = SocketAddress.of(text, 24551)
    on = {"interface": interface.address, "interface_index": index, "multicast_ttl": 1}
    try:
        members = [open_one(to, wants_gro=uses_gso, **on) for _ in range(2)]
        sender = open_one(
            SocketAddress.of("::" if family == socket.AF_INET6 else "0.0.0.0", 0),
            connect=to,
            wants_gso=uses_gso,
            **on,
        )
    except OSError as error:
        if error.errno in (errno.ENOPROTOOPT, errno.ENETUNREACH, errno.EADDRNOTAVAIL):
            pytest.skip(f"the kernel has no multicast on {interface.name}: {error}")
        raise

    sender.send([(bytes(250), 100)], to)

    assert [[len(data) for data in await_datagrams(member, 3)] for member in members] == [[100, 100, 50]] * 2


def test_a_socket_does_not_receive_other_groups_on_its_port(group):
    address, open_one = group
    member = open_one()
    other = SocketAddress.of("224.0.1.203", address.port)
    open_one(other)
    sender = open_one(SocketAddress.of("0.0.0.0", 0))

    sender.send([(b"for others", 10)], other)
    sender.send([(b"for us", 6)], address)

    assert await_datagrams(member, 1) == [b"for us"]


def test_a_group_that_cannot_be_joined_is_named_with_the_interface(group):
    _, open_one = group

    with pytest.raises(
        OSError,
        match=r"IP_ADD_MEMBERSHIP option to: .*imr_multiaddr=224\.0\.1\.201, \.imr_interface=203\.0\.113\.7",
    ) as caught:
        open_one(interface=SocketAddress.of("203.0.113.7", 0))

    assert caught.value.errno in (errno.ENODEV, errno.EADDRNOTAVAIL)
