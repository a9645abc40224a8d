"""What becomes of messages that are queued when a publication is closed."""

from __future__ import annotations

import pytest
from pairing import heard, message

from aeron_core.testing.pair import MS, S

POLY = "|poly=true"


def queued(pair, count=30):
    """Return a peer that takes nothing for now, and has messages waiting."""
    peer = pair.join()
    peer.capacity = 0
    for number in range(count):
        pair.offer(b"%03d" % number)
    assert heard(peer) == b""
    return peer, b"".join(message(b"%03d" % number) for number in range(count))


@pytest.mark.parametrize("subscribes", [True, False])
@pytest.mark.parametrize("keys", ["", POLY])
def test_what_is_queued_for_a_slow_peer_is_delivered_after_the_close(pairing, keys, subscribes):
    pair = pairing(keys=keys, subscribes=subscribes)
    peer, expected = queued(pair)
    pair.publication.close()
    pair.run(1 * S)
    peer.capacity = 1 << 20
    assert pair.hear(peer, len(expected)) == expected


def test_what_a_peer_has_not_taken_when_linger_is_over_is_reported(pairing):
    pair = pairing(keys=f"{POLY}|linger=1s", subscribes=False)
    _peer, expected = queued(pair)
    pair.publication.close()
    pair.run(5 * S)
    assert any(
        f"{len(expected)} bytes that were queued for it are lost: not sent within linger="
        in error
        for error in pair.errors()
    )


def test_a_subscription_keeps_the_queues_of_a_closed_publication_going(pairing):
    pair = pairing(keys=f"{POLY}|linger=1s")
    peer, expected = queued(pair)
    pair.publication.close()
    pair.run(20 * S)
    peer.capacity = 1 << 20
    assert pair.hear(peer, len(expected)) == expected


def test_what_a_monogamous_socket_has_for_nobody_is_reported_when_linger_is_over(pairing):
    pair = pairing(keys="|linger=1s")
    peer = pair.join()
    peer.capacity = 0
    pair.offer(bytes(100))
    peer.close()
    pair.run(100 * MS)
    pair.publication.close()
    pair.run(3 * S)
    assert any("no peer has confirmed within linger=" in error for error in pair.errors())
