"""A sender whose address changes while its stream is received, such as one behind a NAT."""

import pytest

from aeron_core.protocol.frames.setup import Setup
from aeron_core.protocol.frames.status_message import StatusMessage
from aeron_core.testing import SimulatedPeer, data_frame, encode_frame, frames_of
from aeron_core.testing.pair import MS, S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
SETUP = encode_frame(Setup(session_id=7, stream_id=1001, term_length=64 * 1024, mtu=1408))
HEARTBEAT = data_frame(frame_length=0, session_id=7, stream_id=1001)


@pytest.fixture
def peers(pair):
    """Return the same sender at its old address, which is received, and at its new one."""
    subscription = pair.add_subscription(CHANNEL, 1001)
    old, new = (
        SimulatedPeer(pair.network, "10.9.0.1", port, (pair.RECEIVER, 20121)) for port in (40000, 40001)
    )
    old.send(SETUP)
    pair.run_until(lambda: subscription.is_connected)
    return old, new


def answers(pair, peer, *senders):
    """Return the status messages that a peer gets while senders send a SETUP and a heartbeat each 100 ms."""
    peer.receive()
    received = []
    for _ in range(30):
        for sender in senders:
            sender.send(SETUP, HEARTBEAT)
        pair.run_for(100 * MS)
        received += frames_of(StatusMessage, peer.receive())
    return received


def test_a_sender_whose_address_changes_is_answered_at_the_new_one(pair, peers):
    old, new = peers

    assert answers(pair, new, new)
    assert not answers(pair, old, new)


def test_the_answers_of_an_active_sender_cannot_be_redirected(pair, peers):
    old, forger = peers

    assert not answers(pair, forger, old, forger)
    assert answers(pair, old, old, forger)


def test_data_from_another_address_does_not_redirect_answers(pair, peers):
    _, forger = peers
    for _ in range(30):
        forger.send(HEARTBEAT)
        pair.run_for(100 * MS)

    assert frames_of(StatusMessage, forger.receive()) == []


def test_a_sender_that_is_silent_is_answered_at_its_address(pair, peers):
    old, _ = peers
    pair.run_for(2 * S)

    old.send(SETUP)

    old.receive()
    pair.run_for(1 * S)
    assert frames_of(StatusMessage, old.receive())
