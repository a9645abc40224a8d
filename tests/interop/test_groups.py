"""One sender, several receivers: our driver and the real one, in both roles."""

from __future__ import annotations

import errno
import socket
import sys
from pathlib import Path

import pytest
from messages import expected_checksum

from aeron_core._native.interfaces import list_interfaces

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
    """A group on an interface that has multicast, and a port that was free a moment ago."""
    if request.param == "IPv4":
        if not loopback_has_multicast():
            pytest.skip("the kernel has no multicast")
        return f"aeron:udp?endpoint=224.0.1.233:{free_port()}|interface=127.0.0.1"
    for one in list_interfaces():
        if one.address.family == socket.AF_INET6 and one.is_up and one.is_multicast:
            return f"aeron:udp?endpoint=[ff02::20:233]:{free_port()}|interface=[{one.address.host}]"
    pytest.skip("this machine has no interface for IPv6 multicast")


def exchange(start, sender, receivers, *, send_channel, receive_channels, count=COUNT):
    """Send from one process to several, each of (command, directory); all must receive everything."""
    receiving = []
    for (command, directory), channel in zip(receivers, receive_channels, strict=True):
        receiving.append(start(*command, "receive", directory, channel, 1001, count))
        receiving[-1].await_line("ready")
    command, directory = sender
    sending = start(*command, "send", directory, send_channel, 1001, count, "concurrent")
    assert sending.result() == {"sent": count}
    for peer in receiving:
        assert peer.result() == {"received": count, "checksum": expected_checksum(count)}


@pytest.mark.parametrize(
    ("sender", "receivers"),
    [
        ("ours", ["ours", "ours"]),
        ("ours", ["theirs", "ours"]),
        ("theirs", ["ours", "ours"]),
        ("theirs", ["theirs", "ours"]),
    ],
)
def test_a_group_receives_what_one_driver_sends(start, drivers, clients, group_channel, sender, receivers):
    at = [(clients[kind], drivers[kind]()) for kind in receivers]

    exchange(
        start,
        (clients[sender], drivers[sender]()),
        at,
        # As many as there are: nothing is sent before all are there.
        send_channel=f"{group_channel}|fc=min,g:/{len(at)}",
        receive_channels=[group_channel] * len(at),
    )
