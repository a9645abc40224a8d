"""Monogamous PAIR1 as tested by nng, and documented differences."""

from __future__ import annotations

import pytest

from aeron_core.errors import RegistrationError
from aeron_core.logbuffer import results
from aeron_core.testing.pair import S

MODES = pytest.mark.parametrize("keys", ["", "|poly=true"], ids=["mono", "poly"])


@MODES
def test_it_greets_at_once_as_protocol_17(pairing, keys):
    pairing.endpoint(keys=keys)
    peer = pairing.peer(greets=False)

    pairing.run()

    assert peer.greeting() == b"\0SP\0\0\x11\0\0"


def test_two_endpoints_exchange_messages(pairing):
    one, other = pairing.endpoint("listen"), pairing.endpoint("dial")
    pairing.run()

    one.offer(b"ping")
    pairing.run()
    other.offer(b"pong")
    pairing.run()

    assert [(message.body, message.hops) for message in other.messages] == [(b"ping", 1)]
    assert [(message.body, message.hops) for message in one.messages] == [(b"pong", 1)]


def test_it_is_faithful_to_its_first_peer(pairing):
    ours = pairing.endpoint()
    first = pairing.peer()
    second = pairing.peer(greets=False)

    second.greet()
    second.send_message(b"from the second")
    first.send_message(b"from the first")
    ours.offer(b"to the first")
    pairing.run()

    assert ours.bodies() == [b"from the first"]
    assert first.bodies() == [b"to the first"]
    assert second.is_turned_away()
    assert not first.is_turned_away()
    assert ours.counted("refused") == 1


def test_a_refused_peer_is_admitted_once_the_first_has_disconnected(pairing):
    ours = pairing.endpoint()
    first = pairing.peer()
    assert pairing.peer().is_turned_away()

    first.leave()
    pairing.run()
    another = pairing.peer()
    another.send_message(b"hello")
    pairing.run()

    assert ours.bodies() == [b"hello"]


def test_a_peer_that_does_not_read_holds_the_publisher_back_and_loses_nothing(pairing):
    ours = pairing.endpoint(keys="|term-length=64k|max-message=8k")
    peer = pairing.peer()
    peer.end.capacity = 1024
    pairing.run()

    offered = 0
    while ours.publication.offer(b"%05d" % offered + bytes(1000)) > 0:
        offered += 1
        pairing.run(1_000_000)
    peer.end.capacity = 1 << 24
    pairing.run()

    assert 0 < offered < 200
    assert [body[:5] for body in peer.bodies()] == [b"%05d" % number for number in range(offered)]


def test_without_a_peer_offers_are_not_accepted(pairing):
    ours = pairing.endpoint()

    pairing.run()

    assert ours.publication.offer(b"hello") == results.NOT_CONNECTED


def test_what_has_made_a_hop_is_sent_with_one_more(pairing):
    ours = pairing.endpoint()
    peer = pairing.peer()

    ours.offer(b"origin")
    ours.offer(b"forwarded", hops=1)
    pairing.run()

    assert peer.received_messages() == [(1, b"origin"), (2, b"forwarded")]


def test_what_has_made_255_hops_is_not_sent_but_counted_and_others_are(pairing):
    ours = pairing.endpoint()
    peer = pairing.peer()

    ours.offer(b"spent", hops=255)
    ours.offer(b"good", hops=254)
    pairing.run()

    assert peer.received_messages() == [(255, b"good")]
    assert ours.counted("unsent-hops") == 1


@pytest.mark.parametrize("ttl", [0, 256, 1000, -1])
def test_a_limit_of_hops_is_from_1_to_255(pairing, ttl):
    with pytest.raises(RegistrationError, match=f"ttl={ttl}"):
        pairing.endpoint(keys=f"|ttl={ttl}")


@MODES
@pytest.mark.parametrize(("key", "ttl"), [("", 8), ("|ttl=4", 4), ("|ttl=1", 1), ("|ttl=255", 255)])
def test_what_has_made_more_hops_than_its_limit_is_discarded_and_the_peer_stays(pairing, keys, key, ttl):
    ours = pairing.endpoint(keys=keys + key)
    peer = pairing.peer()

    for hops in (ttl + 1, ttl, 1):
        peer.send_message(b"%d" % hops, hops)
    pairing.run()

    assert [(message.body, message.hops) for message in ours.messages] == [(b"%d" % ttl, ttl), (b"1", 1)]
    assert not peer.is_turned_away()
    assert ours.counted("discards-ttl") + ours.counted("discards-reserved-bits") == 1


@MODES
@pytest.mark.parametrize("payload", [b"", b"\0", b"\0\0\0"])
def test_what_is_too_short_for_a_header_is_discarded_and_the_peer_stays(pairing, keys, payload):
    ours = pairing.endpoint(keys=keys)
    peer = pairing.peer()

    peer.send_payload(payload)
    peer.send_message(b"good")
    pairing.run()

    assert ours.bodies() == [b"good"]
    assert not peer.is_turned_away()
    assert ours.counted("discards-short") == 1


@MODES
@pytest.mark.parametrize("header", [0x1000, 0x101, 0x80000001, 0xFFFFFFFF])
def test_what_has_reserved_bits_set_is_discarded_and_the_peer_stays(pairing, keys, header):
    ours = pairing.endpoint(keys=keys)
    peer = pairing.peer()

    peer.send_message(b"bad", header)
    peer.send_message(b"good")
    pairing.run()

    assert ours.bodies() == [b"good"]
    assert not peer.is_turned_away()
    assert ours.counted("discards-reserved-bits") == 1


@MODES
def test_a_hop_count_of_zero_is_discarded_unless_it_is_accepted(pairing, keys):
    ours = pairing.endpoint(keys=keys)
    peer = pairing.peer()

    peer.send_message(b"bad", 0)
    peer.send_message(b"good")
    pairing.run()

    assert ours.bodies() == [b"good"]
    assert ours.counted("discards-zero-hops") == 1


@MODES
def test_a_hop_count_of_zero_is_delivered_if_it_is_accepted(pairing, keys):
    ours = pairing.endpoint(keys=f"{keys}|accept-zero-hop=true")
    peer = pairing.peer()

    peer.send_message(b"from mangos", 0)
    pairing.run()

    assert [(message.body, message.hops) for message in ours.messages] == [(b"from mangos", 0)]


@MODES
@pytest.mark.parametrize("protocol", [16, 48, 80, 0, 65535])
def test_a_peer_of_another_protocol_is_refused(pairing, keys, protocol):
    ours = pairing.endpoint(keys=keys)
    peer = pairing.peer(protocol, greets=False)

    peer.greet()
    pairing.run(3 * S)

    assert peer.is_turned_away()
    assert ours.counted("mismatched") == 1
    assert ours.sessions() == []
    shown = "PAIR0 (16)" if protocol == 16 else "another protocol"
    assert any(f"the peer speaks {shown}, this end PAIR1 (17)" in text for text in ours.errors())


def test_what_arrived_before_a_peer_left_can_still_be_read(pairing):
    ours = pairing.endpoint()
    peer = pairing.peer()
    ours.is_polling = False

    for number in range(20):
        peer.send_message(b"%d" % number)
    pairing.run()
    peer.leave()
    pairing.run()
    ours.is_polling = True
    pairing.run()

    assert ours.bodies() == [b"%d" % number for number in range(20)]


def test_an_incomplete_message_is_not_delivered_at_the_end(pairing):
    ours = pairing.endpoint()
    peer = pairing.peer()

    peer.send_message(b"whole")
    peer.end.send(b"\0\0\0\0\0\0\0\x10\0\0\0\x01half")
    pairing.run()
    peer.leave()
    pairing.run(3 * S)

    assert ours.bodies() == [b"whole"]
    assert ours.sessions() == []


@pytest.mark.parametrize(("length", "arrives"), [(100, True), (101, False)])
def test_a_message_beyond_the_configured_maximum_ends_the_connection(pairing, length, arrives):
    ours = pairing.endpoint(keys="|max-message=100")
    peer = pairing.peer()

    peer.send_message(bytes(length))
    pairing.run()

    assert ours.bodies() == ([bytes(length)] if arrives else [])
    assert peer.is_turned_away() is not arrives
    assert ours.counted("rejects-length") == (0 if arrives else 1)


@pytest.mark.parametrize("length", [1 << 63, (1 << 64) - 1, 1 << 40])
def test_a_length_beyond_all_reason_ends_the_connection(pairing, length):
    ours = pairing.endpoint()
    peer = pairing.peer()

    peer.end.send(length.to_bytes(8, "big"))
    pairing.run()

    assert peer.is_turned_away()
    assert ours.counted("rejects-length") == 1
    assert ours.counted("memory") < 1 << 20
