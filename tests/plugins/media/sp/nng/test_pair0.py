"""PAIR0 as tested by nng: like PAIR1, without hops."""

from __future__ import annotations

import pytest

from aeron_core.logbuffer import results

PAIR0 = "|protocol=pair0"


def test_it_greets_at_once_as_protocol_16(pairing):
    pairing.endpoint(keys=PAIR0)
    peer = pairing.peer(16, greets=False)

    pairing.run()

    assert peer.greeting() == b"\0SP\0\0\x10\0\0"


def test_two_endpoints_exchange_messages(pairing):
    one, other = pairing.endpoint("listen", PAIR0), pairing.endpoint("dial", PAIR0)
    pairing.run()

    one.offer(b"ping")
    other.offer(b"pong")
    pairing.run()

    assert other.bodies() == [b"ping"]
    assert one.bodies() == [b"pong"]


@pytest.mark.parametrize("body", [b"", b"\0", b"abc", b"\xff\xff\xff\xff"])
def test_messages_have_no_header(pairing, body):
    ours = pairing.endpoint(keys=PAIR0)
    peer = pairing.peer(16)

    peer.send_payload(body)
    ours.offer(body)
    pairing.run()

    assert ours.bodies() == [body]
    assert peer.bodies() == [body]


def test_it_is_faithful_to_its_first_peer(pairing):
    ours = pairing.endpoint(keys=PAIR0)
    first, second = pairing.peer(16), pairing.peer(16)

    first.send_message(b"from the first")
    ours.offer(b"to the first")
    pairing.run()

    assert ours.bodies() == [b"from the first"]
    assert first.bodies() == [b"to the first"]
    assert second.is_turned_away()


def test_without_a_peer_offers_are_not_accepted(pairing):
    ours = pairing.endpoint(keys=PAIR0)

    assert ours.publication.offer(b"hello") == results.NOT_CONNECTED


def test_a_peer_of_pair1_is_refused(pairing):
    ours = pairing.endpoint(keys=PAIR0)
    peer = pairing.peer(17, greets=False)

    peer.greet()
    pairing.run()

    assert peer.is_turned_away()
    assert ours.counted("mismatched") == 1


def test_a_peer_that_does_not_read_holds_the_publisher_back_and_loses_nothing(pairing):
    ours = pairing.endpoint(keys=f"{PAIR0}|term-length=64k|max-message=8k")
    peer = pairing.peer(16)
    peer.end.capacity = 1024

    offered = 0
    while ours.publication.offer(b"%05d" % offered + bytes(1000)) > 0:
        offered += 1
        pairing.run(1_000_000)
    peer.end.capacity = 1 << 24
    pairing.run()

    assert 0 < offered < 200
    assert [body[:5] for body in peer.bodies()] == [b"%05d" % number for number in range(offered)]
