"""Messages in both directions: lengths, hops, and discarded messages."""

from __future__ import annotations

import struct

import pytest
from pairing import PAIR0, STREAM, is_gone, message, received_by

from aeron_core import FragmentAssembler


@pytest.mark.parametrize("mtu", ["1408", "8k"])
@pytest.mark.parametrize("capacity", [1000, 50_000, 1 << 20])
def test_long_and_short_messages_are_sent_in_order_with_any_receive_capacity(pairing, mtu, capacity):
    pair = pairing(keys="|term-length=8m", publishes=False)
    keys = f"|term-length=8m|mtu={mtu}"  # its fragments may be more than go with one call
    pair.publication = pair.result(pair.client.add_publication_async(pair.channel + keys, STREAM))
    peer = pair.join()
    lengths = [0, 20_000, 9000, 5, 8192, 8191, 300_000, 1, 65_536] * 2 + [8192] * 70
    bodies = [bytes([number]) * length for number, length in enumerate(lengths)]
    for body in bodies:
        assert pair.publication.offer(body) > 0
    expected = b"".join(message(body) for body in bodies)

    peer.capacity = capacity
    assert pair.read_exactly(peer, len(expected)) == expected


def test_long_and_short_messages_reach_all_streams_completely(pairing):
    pair = pairing(keys="|term-length=1m|max-message=128k|mtu=8k", subscribes=False)
    subscriptions = [pair.subscribe(STREAM), pair.subscribe(STREAM + 1)]
    received = [[], []]
    handlers = [
        FragmentAssembler(lambda buffer, header, bodies=bodies: bodies.append(bytes(buffer)))
        for bodies in received
    ]

    def poll():
        for subscription, handler in zip(subscriptions, handlers, strict=True):
            subscription.poll(handler, 100)

    pair.poll = poll
    peer = pair.join()
    lengths = [8191, 8192, 8193, 0, 100_000, 65_536, 65_537, 31, 131_072, 1] * 3
    bodies = [bytes((index * 7 + length) & 0xFF for index in range(length)) for length in lengths]

    pair.send_from(peer, b"".join(message(body) for body in bodies))

    assert received == [bodies, bodies]


@pytest.mark.parametrize("length", [0, 1, 1407, 65504, 65536, 200_000])
def test_messages_of_any_length_are_exchanged_in_both_directions(pairing, length):
    pair = pairing(keys="|term-length=8m", publishes=False)
    pair.publication = pair.result(
        pair.client.add_publication_async(pair.channel + "|term-length=8m|mtu=8k", STREAM)
    )
    peer = pair.join()
    body = bytes(index & 0xFF for index in range(length))
    pair.send_from(peer, message(body))
    pair.offer(body)
    assert b"".join(pair.bodies()) == body
    assert pair.read_exactly(peer, len(message(body))) == message(body)


def test_the_image_of_a_peer_has_its_address_and_the_reserved_value_its_hops(pairing):
    pair = pairing()
    peer = pair.join()
    pair.send_from(peer, message(b"m", hops=3))
    [received] = pair.received
    [image] = pair.subscription.images
    assert received.hops == 3
    assert image.session_id == received.session_id
    assert image.source_identity == str(peer.address)


@pytest.mark.parametrize(
    ("header", "counter"),
    [
        (0, "discards-zero-hops"),
        (9, "discards-ttl"),
        (0x100, "discards-reserved-bits"),
        (0xFFFFFF01, "discards-reserved-bits"),
    ],
)
def test_messages_with_wrong_hops_are_discarded_and_counted_and_the_peer_stays(pairing, header, counter):
    pair = pairing()
    peer = pair.join()
    pair.send_from(peer, message(b"wrong", hops=header) + message(b"right", hops=8))
    assert pair.bodies() == [b"right"]
    assert pair.counted(counter) == 1


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_payloads_too_short_for_hops_are_discarded_and_the_peer_stays(pairing, length):
    pair = pairing()
    peer = pair.join()
    pair.send_from(peer, struct.pack(">Q", length) + bytes(length) + message(b"right"))
    assert pair.bodies() == [b"right"]
    assert pair.counted("discards-short") == 1


def test_messages_with_zero_hops_are_accepted_if_configured(pairing):
    pair = pairing(keys="|accept-zero-hop=true")
    peer = pair.join()
    pair.send_from(peer, message(b"of mangos", hops=0))
    assert pair.bodies() == [b"of mangos"]


@pytest.mark.parametrize(("ttl", "passes", "exceeds"), [(1, 1, 2), (15, 15, 16), (255, 255, 256)])
def test_messages_with_more_hops_than_the_ttl_are_discarded(pairing, ttl, passes, exceeds):
    pair = pairing(keys=f"|ttl={ttl}")
    peer = pair.join()
    pair.send_from(peer, message(b"in", hops=passes) + message(b"out", hops=exceeds))
    assert pair.bodies() == [b"in"]


def test_hops_given_with_an_offer_are_incremented(pairing):
    pair = pairing()
    peer = pair.join()
    pair.offer(b"m", reserved_value=7)
    assert received_by(peer) == message(b"m", hops=8)


def test_a_message_with_the_maximum_of_hops_is_not_sent(pairing):
    pair = pairing()
    peer = pair.join()
    pair.offer(b"m", reserved_value=255)
    pair.offer(b"next")
    assert received_by(peer) == message(b"next")
    assert pair.counted("unsent-hops") == 1


@pytest.mark.parametrize("length", [1025, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_message_that_is_too_long_ends_the_connection_before_memory_is_allocated_for_it(pairing, length):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.send_from(peer, struct.pack(">Q", min(length + 4, (1 << 64) - 1)))
    assert is_gone(peer)
    assert pair.counted("rejects-length") == 1
    assert any(
        "message is too long: at most 1024 bytes; max-message= sets it" in error for error in pair.errors()
    )


def test_a_message_of_the_maximum_length_is_delivered(pairing):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.send_from(peer, message(bytes(1024)))
    assert pair.bodies() == [bytes(1024)]


def test_a_message_too_long_to_be_sent_is_reported_and_the_next_is_sent(pairing):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.offer(bytes(1025))
    pair.offer(b"next")
    assert received_by(peer) == message(b"next")
    assert pair.counted("unsent-length") == 1
    assert any("message to be sent is too long: at most 1024 bytes" in error for error in pair.errors())


def test_messages_of_pair0_have_no_header(pairing):
    pair = pairing(keys="|protocol=pair0")
    peer = pair.join(PAIR0)
    pair.send_from(peer, struct.pack(">Q", 5) + b"plain")
    pair.offer(b"back")
    assert pair.bodies() == [b"plain"]
    assert received_by(peer) == struct.pack(">Q", 4) + b"back"
