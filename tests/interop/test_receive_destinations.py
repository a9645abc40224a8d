"""Subscriptions with several destinations, across our and the real driver."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from messages import Checksum, expected_checksum

import aeron_core

pytestmark = pytest.mark.interop

PEERS = Path(__file__).parent / "peers"
COUNT = 20_000
DEADLINE_S = 60
START = "|session-id=5|init-term-id=7|term-id=7|term-offset=0"
LOSS = {"AERON_DEBUG_RECEIVE_DATA_LOSS_RATE": "0.05", "AERON_DEBUG_RECEIVE_DATA_LOSS_SEED": "7"}


@pytest.fixture
def clients(foreign_python):
    return {"ours": (sys.executable, PEERS / "ours.py"), "theirs": (foreign_python, PEERS / "foreign.py")}


def receive(subscription):
    checksum, received = Checksum(), 0

    def on_message(buffer, header):
        nonlocal received
        checksum.add(bytes(buffer))
        received += 1

    deadline = time.monotonic() + DEADLINE_S
    assembler = aeron_core.FragmentAssembler(on_message)
    while received < COUNT and time.monotonic() < deadline:
        if subscription.poll(assembler, 50) == 0:
            time.sleep(0.0005)
    return received, checksum.hexdigest()


@pytest.mark.compatible("MDS, two senders of one stream with loss", "to {receiver_driver}")
@pytest.mark.parametrize("receiver", ["ours", "theirs"])
def test_one_stream_of_two_senders_arrives_once(
    start, our_driver, foreign_driver, clients, udp_channels, receiver
):
    if receiver == "ours":
        driver, sending_driver, client = our_driver(**LOSS), foreign_driver(), clients["theirs"]
    else:
        driver, sending_driver, client = foreign_driver(), our_driver(), clients["ours"]
    with aeron_core.connect(driver) as aeron:
        subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 1001)
        for channel in udp_channels:
            subscription.add_destination(channel)

        senders = [
            start(*client, "send", sending_driver, channel + START, 1001, COUNT, "exclusive")
            for channel in udp_channels
        ]

        assert receive(subscription) == (COUNT, expected_checksum(COUNT))
        for sender in senders:
            assert sender.result() == {"sent": COUNT}


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
            assert publication.offer(b"hello") > 0

        received = []
        deadline = time.monotonic() + DEADLINE_S
        while len(received) < 3 and time.monotonic() < deadline:
            subscription.poll(lambda buffer, header: received.append((header.session_id, bytes(buffer))), 10)

        assert sorted(received) == sorted((p.session_id, b"hello") for p in publications)
        for channel in (one, "aeron:ipc", f"aeron-spy:{other}"):
            subscription.remove_destination(channel)
