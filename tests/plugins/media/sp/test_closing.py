"""Queued messages of a closed publication."""

from __future__ import annotations

import pytest
from pairing import STREAM, message, received_by

from aeron_core.testing.pair import MS, S

POLY = "|poly=true"


def queued(pair, count=30):
    """Return a peer that accepts nothing yet, and the bytes queued for it."""
    peer = pair.join()
    peer.capacity = 0
    for number in range(count):
        pair.offer(b"%03d" % number)
    assert received_by(peer) == b""
    return peer, b"".join(message(b"%03d" % number) for number in range(count))


@pytest.mark.parametrize("subscribes", [True, False])
@pytest.mark.parametrize("keys", ["", POLY])
def test_queued_messages_are_delivered_to_a_slow_peer_after_the_close(pairing, keys, subscribes):
    pair = pairing(keys=keys, subscribes=subscribes)
    peer, expected = queued(pair)
    pair.publication.close()
    pair.run(1 * S)
    peer.capacity = 1 << 20
    assert pair.read_exactly(peer, len(expected)) == expected


def test_messages_that_a_peer_did_not_accept_within_linger_are_reported(pairing):
    pair = pairing(keys=f"{POLY}|linger=1s", subscribes=False)
    queued(pair)
    pair.publication.close()
    pair.run(5 * S)
    assert any("messages queued for it are lost: not sent within linger=" in error for error in pair.errors())


def test_a_subscription_keeps_sending_the_queues_of_a_closed_publication(pairing):
    pair = pairing(keys=f"{POLY}|linger=1s")
    peer, expected = queued(pair)
    pair.publication.close()
    pair.run(20 * S)
    peer.capacity = 1 << 20
    assert pair.read_exactly(peer, len(expected)) == expected


def test_messages_of_a_monogamous_socket_without_a_peer_are_reported_after_linger(pairing):
    pair = pairing(keys="|linger=1s")
    peer = pair.join()
    peer.capacity = 0
    pair.offer(bytes(100))
    peer.close()
    pair.run(100 * MS)
    pair.publication.close()
    pair.run(3 * S)
    assert any("no peer has confirmed within linger=" in error for error in pair.errors())


def test_no_message_passes_for_the_rest_of_a_revoked_one(pairing):
    pair = pairing(keys="|term-length=2m", subscribes=False)
    other = pair.publish(STREAM + 1)
    peer = pair.join()
    body = b"a" * 150_000
    peer.capacity = 50_000
    pair.offer(body)
    received = received_by(peer)
    assert 8 < len(received) < len(message(body))
    peer.capacity = 0
    while other.offer(b"b" * 1000) < 0:
        pair.step()

    pair.publication.revoke()
    # Accept a little in each step, so that the message is still incomplete when its publication is removed.
    peer.capacity = 8

    def read():
        nonlocal received
        received += received_by(peer)

    pair.idle_step_ns = 1 * MS
    pair.run_for(7 * S, read)

    assert message(body).startswith(received)
    assert peer.is_closed_by_peer
