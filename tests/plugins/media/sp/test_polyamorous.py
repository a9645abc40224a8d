"""A socket with several peers: each is an image, gets the messages that name it, and does not delay others."""

from __future__ import annotations

import pytest
from pairing import DIALING, greeting, is_gone, message, received_by

from aeron_core.testing.pair import MS, S

HAS_PEER = 0x100


def to(session_id, hops=0):
    """Return the reserved value of a message for one peer."""
    return session_id << 32 | HAS_PEER | hops


@pytest.fixture
def poly(pairing):
    return pairing(keys="|poly=true")


def session_of(pair, peer):
    """Return the session id of a peer, found by a message that it sends."""
    name = str(peer.address).encode()
    pair.send_from(peer, message(name))
    return next(received.session_id for received in reversed(pair.received) if received.body == name)


def test_each_peer_is_an_image_of_its_own(poly):
    peers = [poly.join() for _ in range(3)]
    sessions = [session_of(poly, peer) for peer in peers]
    assert len(set(sessions)) == 3
    images = {image.session_id: image.source_identity for image in poly.subscription.images}
    assert images == {session: str(peer.address) for session, peer in zip(sessions, peers, strict=True)}
    assert poly.counted("peers") == 3


def test_a_message_is_sent_only_to_the_peer_that_it_names(poly):
    peers = [poly.join() for _ in range(3)]
    sessions = [session_of(poly, peer) for peer in peers]
    for number, session in enumerate(sessions):
        poly.offer(b"to %d" % number, reserved_value=to(session))
    assert [received_by(peer) for peer in peers] == [message(b"to %d" % number) for number in range(3)]


def test_a_message_that_names_no_peer_is_sent_to_the_oldest_one(poly):
    first, second = poly.join(), poly.join()
    poly.offer(b"one")
    poly.offer(b"two")
    assert received_by(first) == message(b"one") + message(b"two")
    first.close()
    poly.run()
    poly.offer(b"three")
    assert received_by(second) == message(b"three")


def test_a_message_for_a_disconnected_peer_is_dropped_and_counted(poly):
    first, second = poly.join(), poly.join()
    session = session_of(poly, first)
    first.close()
    poly.run()
    poly.offer(b"too late", reserved_value=to(session))
    assert received_by(second) == b""
    assert poly.counted("unsent-no-peer") == 1
    assert any("for a peer that is not connected: dropped" in error for error in poly.errors())


def test_a_peer_that_does_not_read_does_not_delay_others_and_its_lost_messages_are_counted(pairing):
    pair = pairing(keys="|poly=true|peer-queue=4k|max-message=1k")
    slow, quick = pair.join(), pair.join()
    slow_session, quick_session = session_of(pair, slow), session_of(pair, quick)
    slow.capacity = 0
    body = bytes(1000)
    for _ in range(10):
        pair.offer(body, reserved_value=to(slow_session))
        pair.offer(b"quick", reserved_value=to(quick_session))
    pair.run()
    assert received_by(quick) == message(b"quick") * 10
    slow.capacity = 1 << 20
    pair.run()
    partial = received_by(slow)
    assert partial == message(body) * 4
    assert pair.counted("unsent-peer-full") == 6
    assert any(
        "for a peer with a full queue, of length 4096; peer-queue= sets it" in error
        for error in pair.errors()
    )


def test_messages_reach_a_slow_peer_in_the_order_of_their_offers(poly):
    peer = poly.join()
    session = session_of(poly, peer)
    peer.capacity = 100
    bodies = [b"message %d" % number for number in range(100)]
    for body in bodies:
        poly.offer(body, reserved_value=to(session))
    sent = b"".join(map(message, bodies))
    assert poly.read_exactly(peer, len(sent)) == sent


def test_bytes_queued_for_a_peer_that_disconnects_are_reported(poly):
    peer = poly.join()
    poly.join()
    peer.capacity = 0
    poly.offer(b"queued")
    peer.close()
    poly.run()
    assert any("messages queued for it are lost" in error for error in poly.errors())


def test_hops_count_for_messages_that_name_a_peer(poly):
    peer = poly.join()
    poly.offer(b"m", reserved_value=to(session_of(poly, peer), hops=4))
    assert received_by(peer) == message(b"m", hops=5)


def test_peers_beyond_the_limit_are_closed_and_reported(pairing):
    pair = pairing(keys="|poly=true|max-connections=2")
    peers = [pair.join(), pair.join()]
    surplus = pair.dial()
    assert is_gone(surplus)
    assert pair.counted("turned-away") == 1
    assert any("at most 2; max-connections= sets it" in error for error in pair.errors())
    peers[0].close()
    pair.run()
    session_of(pair, pair.join())


def test_the_slot_of_a_disconnected_peer_is_kept_until_its_messages_are_consumed(pairing):
    pair = pairing(keys="|poly=true|max-connections=1", subscribes=False)
    peer = pair.join()
    pair.send_from(peer, message(b"unread"))
    peer.close()
    pair.run(1 * S)
    assert is_gone(pair.dial())
    pair.run(31 * S)
    pair.join()
    assert any("bytes were not consumed" in error for error in pair.errors())


def test_a_dialer_may_be_polyamorous_too(pairing):
    pair = pairing(DIALING, "|poly=true")
    peer = pair.accept()
    pair.send_from(peer, greeting())
    pair.offer(b"m", reserved_value=to(session_of(pair, peer)))
    assert received_by(peer) == greeting() + message(b"m")


def test_a_message_that_names_another_peer_is_not_sent_to_the_only_one(pairing):
    pair = pairing()
    peer = pair.join()
    session = session_of(pair, peer)
    pair.offer(b"for another", reserved_value=to(session + 1))
    pair.offer(b"for you", reserved_value=to(session))
    assert received_by(peer) == message(b"for you")
    assert pair.counted("unsent-no-peer") == 1


def test_counters_publish_the_peers_and_the_longest_message_of_each(pairing):
    pair = pairing(keys="|poly=true|peer-queue=4k|max-message=1k")
    peer = pair.join()
    session = session_of(pair, peer)
    spaces = [record.value for record in pair.driver.find_counters("sp-space")]
    assert [value >> 32 for value in spaces if value] == [session]
    head = len(message(b""))
    # The length of the longest message, without its header.
    assert [value & 0x7FFFFFFF for value in spaces if value] == [4096 - head]
    peer.capacity = 0
    pair.offer(bytes(1000), reserved_value=to(session))
    [value] = [record.value for record in pair.driver.find_counters("sp-space") if record.value]
    assert value & 0x7FFFFFFF == 4096 - len(message(bytes(1000))) - head
    peer.close()
    pair.run(100 * MS)
    assert not any(record.value for record in pair.driver.find_counters("sp-space"))


def test_with_confirm_messages_wait_until_a_peer_has_accepted_this_end(pairing):
    pair = pairing(DIALING, "|poly=true|confirm=true|backoff-init=10ms")
    peer = pair.accept()
    pair.send_from(peer, greeting())
    assert pair.publication.offer(b"first") > 0
    pair.run(100 * MS)
    assert received_by(peer) == greeting()
    peer.close()
    pair.run()

    peer = pair.accept()
    pair.send_from(peer, greeting())
    pair.run(300 * MS)
    assert received_by(peer) == greeting() + message(b"first")


def test_with_confirm_the_first_message_waits_for_the_peer_that_it_names(pairing):
    pair = pairing(keys="|poly=true|confirm=true")
    first = pair.join()
    second = pair.join()
    pair.run(1 * S)
    third = pair.dial()
    third.send(greeting())
    pair.until(lambda: len(pair.publication.peers) == 3)
    session = pair.publication.peers[-1].session_id
    assert pair.publication.offer(b"to the third", peer=session) > 0
    pair.offer(b"to the oldest")
    assert received_by(third) == greeting()
    assert received_by(first) == message(b"to the oldest")

    pair.run(300 * MS)
    assert received_by(third) == message(b"to the third")
    assert received_by(second) == b""
