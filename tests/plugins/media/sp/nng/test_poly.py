"""Polyamorous PAIR1 as tested by nng, with results that nng does not report."""

from __future__ import annotations

import pytest

from aeron_core.logbuffer import results
from aeron_core.testing.pair import S

POLY = "|poly=true"


def named(pairing, ours, count):
    """Return peers with their session ids."""
    peers = []
    for number in range(count):
        peer = pairing.peer()
        peer.send_message(b"%d" % number)
        pairing.run()
        peers.append((peer, ours.messages[-1].session_id))
    return peers


def test_replies_are_sent_to_the_sender_of_the_message(pairing):
    ours = pairing.endpoint(keys=POLY)
    peers = named(pairing, ours, 3)

    for _, session_id in reversed(peers):
        ours.offer(b"to %d" % session_id, peer=session_id)
    pairing.run()

    assert [peer.bodies() for peer, _ in peers] == [[b"to %d" % session_id] for _, session_id in peers]


def test_a_message_for_a_disconnected_peer_is_dropped_and_counted(pairing):
    ours = pairing.endpoint(keys=POLY)
    (gone, session_id), (other, _) = named(pairing, ours, 2)

    gone.leave()
    ours.offer(b"before it was noticed", peer=session_id)
    pairing.run()
    ours.offer(b"after", peer=session_id)
    ours.offer(b"next")
    pairing.run()

    assert other.bodies() == [b"next"]
    assert ours.counted("unsent-no-peer") >= 1


def test_messages_without_a_peer_go_to_the_oldest_and_then_to_the_next(pairing):
    ours = pairing.endpoint(keys=POLY)
    (first, _), (second, _), (third, _) = named(pairing, ours, 3)

    ours.offer(b"one", b"two")
    pairing.run()
    first.leave()
    pairing.run()
    ours.offer(b"three")
    pairing.run()

    assert first.bodies() == [b"one", b"two"]
    assert second.bodies() == [b"three"]
    assert third.bodies() == []


def test_a_peer_that_does_not_read_never_holds_the_publisher_back(pairing):
    ours = pairing.endpoint(keys=f"{POLY}|peer-queue=8k")
    (slow, session_id), (quick, other) = named(pairing, ours, 2)
    slow.end.capacity = 0

    for number in range(100):
        ours.offer(b"%d" % number + bytes(1000), peer=session_id)
        ours.offer(b"%d" % number, peer=other)

    pairing.run()
    assert quick.bodies() == [b"%d" % number for number in range(100)]
    # The queued messages arrive when the peer reads again.
    slow.end.capacity = 1 << 24
    pairing.run()
    came = slow.bodies()
    assert came == [b"%d" % number + bytes(1000) for number in range(len(came))]
    assert 0 < len(came) < 20
    assert ours.counted("unsent-peer-full") == 100 - len(came)


def test_without_any_peer_offers_are_not_accepted(pairing):
    ours = pairing.endpoint(keys=POLY)

    assert ours.publication.offer(b"hello") == results.NOT_CONNECTED


def test_an_unknown_peer_is_no_other(pairing):
    ours = pairing.endpoint(keys=POLY)
    ((peer, session_id),) = named(pairing, ours, 1)

    ours.offer(b"to no peer", peer=session_id + 1)
    pairing.run()

    assert peer.bodies() == []
    assert ours.counted("unsent-no-peer") == 1


def test_hops_count_from_one_for_any_peer(pairing):
    ours = pairing.endpoint(keys=POLY)
    ((peer, session_id),) = named(pairing, ours, 1)

    ours.offer(b"named", peer=session_id)
    ours.offer(b"not named")
    pairing.run()

    assert peer.received_messages() == [(1, b"named"), (1, b"not named")]


def test_closing_with_unread_messages_releases_everything(pairing):
    ours = pairing.endpoint(keys=f"{POLY}|term-length=64k|max-message=8k")
    (peer, _), _ = named(pairing, ours, 2)
    ours.is_polling = False
    for number in range(200):
        peer.send_message(b"%d" % number + bytes(1000))
    pairing.run()

    ours.subscription.close()
    ours.publication.close()
    pairing.run(20 * S)

    assert peer.is_turned_away()


@pytest.mark.parametrize("keys", ["", "|ttl=3"])
def test_each_peer_is_an_image_of_its_own(pairing, keys):
    ours = pairing.endpoint(keys=POLY + keys)
    peers = named(pairing, ours, 3)

    assert sorted(ours.sessions()) == sorted(session_id for _, session_id in peers)
    peers[1][0].leave()
    pairing.run(3 * S)

    assert sorted(ours.sessions()) == sorted(session_id for _, session_id in (peers[0], peers[2]))
