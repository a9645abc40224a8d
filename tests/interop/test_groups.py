"""One sender, several receivers: our driver and the real one, in both roles."""

from __future__ import annotations

import errno
import socket
import sys
import time
from pathlib import Path

import pytest
from aeron_media._native.interfaces import list_interfaces
from messages import expected_checksum, message

import aeron_core

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 20_000


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


@pytest.fixture
def drivers(our_driver, foreign_driver):
    return {"ours": our_driver, "theirs": foreign_driver}


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def loopback_has_multicast() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            member = socket.inet_aton("224.0.1.233") + socket.inet_aton("127.0.0.1")
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.ENOPROTOOPT):
                return False
            raise
        return True


@pytest.fixture(params=["IPv4", "IPv6"])
def group_channel(request) -> str:
    """Return a group on an interface with multicast, and a port that was free a moment ago."""
    if request.param == "IPv4":
        if not loopback_has_multicast():
            pytest.skip("the kernel has no multicast")
        return f"aeron:udp?endpoint=224.0.1.233:{free_port()}|interface=127.0.0.1"
    for one in list_interfaces():
        if one.address.family == socket.AF_INET6 and one.is_up and one.is_multicast:
            return f"aeron:udp?endpoint=[ff02::20:233]:{free_port()}|interface=[{one.address.host}]"
    pytest.skip("this machine has no interface for IPv6 multicast")


def exchange(start, sender, receivers, *, send_channel, receive_channels, count=COUNT):
    """Send from one process to several, each given as (command, directory); all must receive everything."""
    receiving = []
    for (command, directory), channel in zip(receivers, receive_channels, strict=True):
        receiving.append(start(*command, "receive", directory, channel, 1001, count))
        receiving[-1].await_line("ready")
    command, directory = sender
    sending = start(*command, "send", directory, send_channel, 1001, count, "concurrent")
    assert sending.result() == {"sent": count}
    for peer in receiving:
        assert peer.result() == {"received": count, "checksum": expected_checksum(count)}


#: A sender and two receivers; at least one of them is ours.
every_mixture = pytest.mark.parametrize(
    ("sender", "receivers"),
    [
        ("ours", ["ours", "ours"]),
        ("ours", ["theirs", "ours"]),
        ("theirs", ["ours", "ours"]),
        ("theirs", ["theirs", "ours"]),
    ],
)


@pytest.mark.compatible("multicast", "{sender_driver} → {receivers_driver}")
@every_mixture
def test_a_group_receives_what_one_driver_sends(start, drivers, clients, group_channel, sender, receivers):
    at = [(clients[kind], drivers[kind]()) for kind in receivers]

    exchange(
        start,
        (clients[sender], drivers[sender]()),
        at,
        # All of them: nothing is sent before all receivers are connected.
        send_channel=f"{group_channel}|fc=min,g:/{len(at)}",
        receive_channels=[group_channel] * len(at),
    )


@pytest.mark.compatible("dynamic MDC", "{sender_driver} → {receivers_driver}")
@every_mixture
def test_dynamic_mdc_sends_to_each_receiver(start, drivers, clients, sender, receivers):
    control = f"127.0.0.1:{free_port()}"
    at = [(clients[kind], drivers[kind]()) for kind in receivers]

    exchange(
        start,
        (clients[sender], drivers[sender]()),
        at,
        send_channel=f"aeron:udp?control={control}|control-mode=dynamic|fc=min,g:/{len(at)}",
        receive_channels=[f"aeron:udp?endpoint=127.0.0.1:0|control={control}|control-mode=dynamic"] * len(at),
    )


@pytest.mark.compatible("manual MDC", "{sender_driver} → {receivers_driver}")
@every_mixture
def test_manual_mdc_sends_to_each_destination(start, drivers, clients, sender, receivers):
    channels = [f"aeron:udp?endpoint=127.0.0.1:{free_port()}" for _ in receivers]
    receiving = []
    for kind, channel in zip(receivers, channels, strict=True):
        receiving.append(start(*clients[kind], "receive", drivers[kind](), channel, 1001, COUNT))
        receiving[-1].await_line("ready")

    with aeron_core.connect(drivers[sender]()) as aeron:
        publication = aeron.add_publication(f"aeron:udp?control-mode=manual|fc=min,g:/{len(channels)}", 1001)
        gone = publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
        for channel in channels:
            publication.add_destination(channel)
        publication.remove_destination_by_id(gone)
        publication.await_connected(60)
        deadline = time.monotonic() + 60
        for index in range(COUNT):
            while publication.offer(message(index)) < 0:
                assert time.monotonic() < deadline
                time.sleep(0.00005)
        for peer in receiving:
            assert peer.result() == {"received": COUNT, "checksum": expected_checksum(COUNT)}


@pytest.mark.parametrize("receivers", [["theirs", "ours"], ["theirs", "theirs"]])
def test_receivers_of_both_drivers_prove_their_address(start, drivers, clients, receivers):
    control = f"127.0.0.1:{free_port()}"
    at = [(clients[kind], drivers[kind]()) for kind in receivers]

    exchange(
        start,
        (clients["ours"], drivers["ours"]()),
        at,
        send_channel=f"aeron:udp?control={control}|control-mode=dynamic|fc=min,g:/{len(at)},proof:true",
        receive_channels=[f"aeron:udp?endpoint=127.0.0.1:0|control={control}|control-mode=dynamic"] * len(at),
    )
