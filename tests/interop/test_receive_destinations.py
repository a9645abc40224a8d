"""Subscriptions with several destinations, across our and the real driver."""

from __future__ import annotations

import socket
import time

import pytest
from messages import Checksum, expected_checksum, message

import aeron_core

pytestmark = pytest.mark.interop

COUNT = 20_000
DEADLINE_S = 60
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
LOSS = {"AERON_DEBUG_RECEIVE_DATA_LOSS_RATE": "0.05", "AERON_DEBUG_RECEIVE_DATA_LOSS_SEED": "7"}


@pytest.mark.compatible("MDS, two senders of one stream with loss", "to {receiver_driver}")
@pytest.mark.parametrize("receiver", ["ours", "theirs"])
def test_one_stream_of_two_senders_arrives_once(our_driver, foreign_driver, udp_channels, receiver):
    if receiver == "ours":
        driver, sending_driver = our_driver(**LOSS), foreign_driver()
    else:
        driver, sending_driver = foreign_driver(), our_driver()
    with aeron_core.connect(driver) as aeron, aeron_core.connect(sending_driver) as sending:
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 1001)
        for channel in udp_channels:
            subscription.add_destination(channel)
        publications = [sending.add_exclusive_publication(channel + START, 1001) for channel in udp_channels]
        for publication in publications:
            publication.await_connected(timeout=DEADLINE_S)
        sent, received, checksum = deliver(publications, subscription)

        assert sent == [COUNT, COUNT]
        assert (received, checksum) == (COUNT, expected_checksum(COUNT))
        assert len(subscription.images) == 1


def deliver(publications, subscription):
    """Offer all messages to all publications of one stream; return the sent and received counts and checksums."""
    sent, received, checksum = [0] * len(publications), 0, Checksum()

    def on_message(buffer, header):
        nonlocal received
        checksum.add(bytes(buffer))
        received += 1

    assembler = aeron_core.FragmentAssembler(on_message)
    deadline = time.monotonic() + DEADLINE_S
    while (received < COUNT or min(sent) < COUNT) and time.monotonic() < deadline:
        for index, publication in enumerate(publications):
            while sent[index] < COUNT and publication.offer(message(sent[index])) > 0:
                sent[index] += 1
        subscription.poll(assembler, 1000)
    return sent, received, checksum.hexdigest()


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def loopback_has_multicast() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            member = socket.inet_aton("224.0.1.235") + socket.inet_aton("127.0.0.1")
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        except OSError:
            return False
        return True


@pytest.mark.compatible("MDS of a group, an address and a named sender, with loss", "to {receiver_driver}")
@pytest.mark.parametrize("receiver", ["ours", "theirs"])
def test_one_stream_of_three_kinds_of_destinations_arrives_once(
    our_driver, foreign_driver, udp_channels, receiver
):
    if not loopback_has_multicast():
        pytest.skip("the kernel has no multicast")
    if receiver == "ours":
        driver, sending_driver = our_driver(**LOSS), foreign_driver()
    else:
        driver, sending_driver = foreign_driver(), our_driver()
    unicast, other = udp_channels
    group = f"aeron:udp?endpoint=224.0.1.235:{free_port()}|interface=127.0.0.1"
    control = f"control=127.0.0.1:{free_port()}|control-mode=dynamic"
    with aeron_core.connect(driver) as aeron, aeron_core.connect(sending_driver) as sending:
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 1001)
        publications = [
            sending.add_exclusive_publication(channel + START, 1001)
            for channel in (group, unicast, f"aeron:udp?{control}")
        ]
        for channel in (group, unicast, f"{other}|{control}"):
            subscription.add_destination(channel)
        for publication in publications:
            publication.await_connected(timeout=DEADLINE_S)

        sent, received, checksum = deliver(publications, subscription)

        assert sent == [COUNT] * 3
        assert (received, checksum) == (COUNT, expected_checksum(COUNT))
        assert len(subscription.images) == 1


@pytest.mark.compatible("MDS of UDP, IPC and a spy", "{driver_driver}")
@pytest.mark.parametrize("driver", ["ours", "theirs"])
def test_udp_shared_memory_and_a_spy_are_destinations_of_one_subscription(
    our_driver, foreign_driver, udp_channels, driver
):
    directory = our_driver() if driver == "ours" else foreign_driver()
    one, other = udp_channels
    with aeron_core.connect(directory) as aeron:
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 1001)
        for channel in (one, "aeron:ipc", f"aeron-spy:{other}"):
            subscription.add_destination(channel)
        publications = [
            aeron.add_publication(channel, 1001) for channel in (one, "aeron:ipc", f"{other}|ssc=true")
        ]
        for publication in publications:
            publication.await_connected(timeout=10)
            # The real driver sets the connected flag before the publisher limit.
            while publication.offer(b"hello") == aeron_core.BACK_PRESSURED:
                time.sleep(0.001)

        received = []
        deadline = time.monotonic() + DEADLINE_S
        while len(received) < 3 and time.monotonic() < deadline:
            subscription.poll(lambda buffer, header: received.append((header.session_id, bytes(buffer))), 10)

        assert sorted(received) == sorted((p.session_id, b"hello") for p in publications)
        for channel in (one, "aeron:ipc", f"aeron-spy:{other}"):
            subscription.remove_destination(channel)
