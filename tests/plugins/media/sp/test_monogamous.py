"""A socket with at most one peer: greetings, messages both ways, refusals and what happens when a peer goes."""

from __future__ import annotations

import re
import struct

import pytest
from aeron_media.sp._native.tallies import Tallies
from aeron_media.sp.fault_texts import fault_text
from aeron_media.sp.pair_params import PairParams
from aeron_media.sp.pair_socket import PairSocket
from aeron_media.streams.end_slot import EndSlot
from aeron_media.streams.feed import Feed
from aeron_media.streams.sockets import SystemStreams
from pairing import ADDRESS, DIALING, LISTENING, PAIR0, STREAM, greeting, heard, is_gone, message

from aeron_core import FragmentAssembler
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.byte_queue import MemoryBudget
from aeron_core.errors import RegistrationError
from aeron_core.testing.pair import MS, S


@pytest.mark.parametrize("channel", [LISTENING, DIALING])
def test_a_greeting_goes_out_at_once_and_messages_go_both_ways_after_the_peers(pairing, channel):
    pair = pairing(channel)
    peer = pair.dial() if channel == LISTENING else pair.accept()
    pair.run()
    assert heard(peer) == greeting()

    pair.say(peer, greeting())
    pair.until(lambda: pair.publication.is_connected)
    pair.say(peer, message(b"to you"))
    pair.offer(b"to me")

    assert pair.bodies() == [b"to you"]
    assert heard(peer) == message(b"to me")


def test_greeting_and_messages_may_come_in_one_piece(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.say(peer, greeting() + message(b"one") + message(b"two"))
    assert pair.bodies() == [b"one", b"two"]


def test_greeting_and_messages_may_come_byte_by_byte(pairing):
    pair = pairing()
    peer = pair.dial()
    for byte in greeting() + message(b"one") + message(b""):
        peer.send(bytes([byte]))
        pair.run(2 * MS)
    pair.run()
    assert pair.bodies() == [b"one", b""]


@pytest.mark.parametrize("mtu", ["1408", "8k"])
@pytest.mark.parametrize("capacity", [1000, 50_000, 1 << 20])
def test_long_and_short_messages_go_in_order_however_little_the_peer_takes_at_a_time(pairing, mtu, capacity):
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
    assert pair.hear(peer, len(expected)) == expected


def test_messages_long_and_short_come_whole_to_all_streams(pairing):
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

    pair.say(peer, b"".join(message(body) for body in bodies))

    assert received == [bodies, bodies]


@pytest.mark.parametrize("length", [0, 1, 1407, 65504, 65536, 200_000])
def test_messages_of_any_length_go_both_ways(pairing, length):
    pair = pairing(keys="|term-length=8m", publishes=False)
    pair.publication = pair.result(
        pair.client.add_publication_async(pair.channel + "|term-length=8m|mtu=8k", STREAM)
    )
    peer = pair.join()
    body = bytes(index & 0xFF for index in range(length))
    pair.say(peer, message(body))
    pair.offer(body)
    assert b"".join(pair.bodies()) == body
    assert pair.hear(peer, len(message(body))) == message(body)


def test_the_image_of_a_peer_says_where_it_comes_from_and_the_reserved_value_its_hops(pairing):
    pair = pairing()
    peer = pair.join()
    pair.say(peer, message(b"m", hops=3))
    [received] = pair.received
    [image] = pair.subscription.images
    assert received.hops == 3
    assert image.session_id == received.session_id
    assert image.source_identity == str(peer.address)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n", b"\0SP\1\0\x11\0\0", b"\0SP\0\0\x11\0\1"])
def test_what_is_no_greeting_ends_the_connection(pairing, said):
    pair = pairing()
    peer = pair.dial()
    peer.send(said)
    pair.run()
    assert is_gone(peer) or is_gone(peer)
    assert pair.counted("malformed") == 1
    assert any("no greeting of SP" in error for error in pair.errors())


def test_a_peer_of_another_protocol_is_turned_away_with_both_named(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.say(peer, greeting(PAIR0))
    assert heard(peer) == greeting()
    assert is_gone(peer)
    assert pair.counted("mismatched") == 1
    assert any(
        "it speaks PAIR0 (16), this end PAIR1 (17); protocol= chooses" in error for error in pair.errors()
    )


def test_who_says_nothing_is_given_up_after_the_handshake_timeout(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.run(9 * S)
    assert heard(peer) == greeting()
    assert not is_gone(peer)
    pair.run(2 * S)
    assert is_gone(peer)
    assert pair.counted("silent") == 1


def test_a_second_peer_is_refused_after_its_greeting_and_the_first_stays(pairing):
    pair = pairing()
    first = pair.join()
    second = pair.dial()
    pair.say(second, greeting())
    assert heard(second) == greeting()
    assert is_gone(second)
    assert pair.counted("refused") == 1
    assert any("this end is monogamous and has another peer" in error for error in pair.errors())

    pair.say(first, message(b"still here"))
    assert pair.bodies() == [b"still here"]


def test_the_next_peer_is_taken_as_soon_as_the_first_is_gone(pairing):
    pair = pairing()
    first = pair.join()
    first.close()
    pair.run()
    second = pair.join()
    pair.say(second, message(b"next"))
    assert pair.bodies() == [b"next"]
    assert pair.counted("refused") == 0


def test_the_next_peer_is_taken_while_subscribers_have_not_read_all_of_the_first(pairing):
    pair = pairing()
    first = pair.join()
    pair.is_polling = False
    for number in range(50):
        first.send(message(b"%d" % number))
    first.close()
    pair.run()
    second = pair.join()
    pair.say(second, message(b"next"))
    pair.is_polling = True
    pair.run()
    assert sorted(pair.bodies()) == sorted([b"%d" % number for number in range(50)] + [b"next"])


def test_a_refused_dialer_does_not_storm(pairing):
    pair = pairing(DIALING, "|backoff-init=100ms|backoff-max=5s")
    attempts = 0
    for _ in range(100):
        found = pair.listener.accept()
        if found is not None:
            attempts += 1
            found[0].send(greeting())
            pair.run(5 * MS)
            found[0].close()
        pair.run(100 * MS)
    # 100, 200, 400, ... ms, half of each left to chance.
    assert 5 <= attempts <= 9
    assert pair.counted("refused-by-peer") == attempts
    assert any("it has another peer, or refuses this one" in error for error in pair.errors())


def test_what_a_peer_says_that_leaves_at_once_is_received(pairing):
    pair = pairing(DIALING)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(b"all that I have"))
    peer.close()
    pair.run()
    assert pair.bodies() == [b"all that I have"]
    assert pair.counted("refused-by-peer") == 0


def test_what_a_peer_says_that_leaves_at_once_waits_for_who_subscribes(pairing):
    pair = pairing(DIALING, subscribes=False)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(b"all that I have"))
    peer.close()
    pair.run()
    pair.subscription = pair.subscribe()
    pair.run()
    assert pair.bodies() == [b"all that I have"]


def test_a_peer_that_leaves_in_the_middle_of_its_first_message_has_not_refused_us(pairing):
    pair = pairing(DIALING)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(bytes(100))[:50])
    peer.close()
    pair.run()
    assert pair.counted("lost") == 1
    assert pair.counted("refused-by-peer") == 0


def test_a_dialer_that_was_good_for_something_comes_back_soon(pairing):
    pair = pairing(DIALING, "|backoff-init=100ms|backoff-max=60s")
    for _ in range(8):
        peer = pair.accept()
        pair.say(peer, greeting() + message(b"m"))
        begin = pair.clock.nano_time()
        peer.close()
        pair.until(lambda: pair.counted("peers") == 0)
    peer = pair.accept()
    assert pair.clock.nano_time() - begin < 1 * S


def test_messages_of_a_draft_that_was_cut_go_whole_to_the_next_peer_once(pairing):
    pair = pairing()
    first = pair.join()
    first.capacity = 30
    bodies = [b"message %d" % number for number in range(20)]
    for body in bodies:
        assert pair.publication.offer(body) > 0
    pair.run()
    came = heard(first)
    first.close()
    pair.run()
    second = pair.join()
    pair.run()
    came_next = heard(second)
    whole = len(came) // len(message(bodies[0]))
    assert 0 < whole < len(bodies)
    assert came.startswith(b"".join(map(message, bodies[:whole])))
    assert came_next == b"".join(map(message, bodies[whole:]))


def test_a_long_message_that_was_cut_goes_whole_to_the_next_peer(pairing):
    pair = pairing()
    first = pair.join()
    first.capacity = 100
    body = bytes(8192)
    assert pair.publication.offer(body) > 0
    pair.run()
    assert len(heard(first)) == 100
    first.close()
    pair.run()
    second = pair.join()
    pair.run()
    assert heard(second) == message(body)


def test_publishers_are_held_back_while_a_peer_does_not_read(pairing):
    pair = pairing()
    peer = pair.join()
    peer.capacity = 0
    pair.until(lambda: pair.publication.offer(bytes(1000)) < 0)
    assert pair.publication.offer(b"m") == -2


def test_peers_are_held_back_while_subscribers_do_not_read(pairing):
    pair = pairing(keys="|term-length=64k")
    peer = pair.join()
    pair.is_polling = False
    data = b"".join(message(b"%08d" % number) for number in range(20_000))
    sent = 0
    while (taken := peer.send(data[sent:])) > 0:
        sent += taken
        pair.run(1 * MS)
    assert 0 < sent < len(data)
    pair.is_polling = True
    pair.say(peer, data[sent:])
    pair.until(lambda: len(pair.received) == 20_000)
    assert pair.bodies() == [b"%08d" % number for number in range(20_000)]


def test_the_connection_lasts_while_nobody_subscribes_and_nothing_is_lost(pairing):
    pair = pairing(subscribes=False)
    peer = pair.join()
    pair.until(lambda: pair.publication.is_connected)
    pair.say(peer, message(b"early"))
    pair.offer(b"out")
    assert heard(peer) == message(b"out")

    pair.subscription = pair.subscribe()
    pair.run()
    pair.say(peer, message(b"late"))
    assert pair.bodies() == [b"early", b"late"]

    pair.subscription.close()
    pair.subscription = None
    pair.run(1 * S)
    pair.offer(b"still")
    assert heard(peer) == message(b"still")


def test_the_connection_lasts_while_nobody_publishes(pairing):
    pair = pairing(publishes=False)
    peer = pair.join()
    pair.say(peer, message(b"one"))
    pair.publication = pair.publish()
    pair.until(lambda: pair.publication.is_connected)
    pair.offer(b"out")
    assert heard(peer) == message(b"out")
    assert pair.bodies() == [b"one"]


@pytest.mark.parametrize("keys", ["", "|poly=true"])
def test_who_subscribes_again_at_once_hears_on(pairing, keys):
    pair = pairing(keys=keys)
    peer = pair.join()
    pair.say(peer, message(b"one"))
    for _ in range(3):
        pair.subscription.close()
        pair.subscription = pair.subscribe()
        pair.say(peer, message(b"more"))
        pair.run()
    assert pair.bodies() == [b"one"] + [b"more"] * 3


def test_who_subscribes_again_has_an_image_of_a_peer_that_says_nothing(pairing):
    pair = pairing()
    pair.join()
    pair.subscription.close()
    pair.subscription = pair.subscribe()
    pair.run(2 * S)
    assert len(pair.subscription.images) == 1


def test_an_endpoint_that_is_closed_late_leaves_the_next_one_what_it_has():
    end = EndSlot(fault_text)
    params = PairParams(tallies=Tallies(), budget=MemoryBudget(1 << 20), faults=end, losses=end)
    socket = PairSocket(params, 1, SystemStreams().new_stream, None, ADDRESS)
    feeds = [[Feed(AtomicBuffer.allocate(1 << 17), 65536, 1408)] for _ in range(2)]
    former, _ = (socket.attach_receiver(each, 0) for each in feeds)
    socket.detach_receiver(former)
    [peer] = socket.peers
    assert peer.input.feed is feeds[1][0]
    assert peer.input.is_fed
    socket.close()


def test_all_streams_of_a_channel_share_the_peer(pairing):
    pair = pairing()
    peer = pair.join()
    other = pair.publish(STREAM + 1)
    pair.until(lambda: other.is_connected)
    assert other.offer(b"of the other") > 0
    pair.offer(b"of the one")
    one, other = message(b"of the one"), message(b"of the other")
    assert heard(peer) in (one + other, other + one)


def test_who_shares_a_socket_must_want_the_same_of_it(pairing):
    pair = pairing(subscribes=False)
    with pytest.raises(RegistrationError, match=rf"ttl.*must be as in {re.escape(LISTENING)}, whose socket"):
        pair.result(pair.client.add_subscription_async(LISTENING + "|ttl=9", STREAM))


@pytest.mark.parametrize(
    "key", ["protocol=pair0", "transport=ws", "poly=true", "max-message=5k", "backoff-init=1s"]
)
@pytest.mark.parametrize("adds", ["add_subscription_async", "add_publication_async"])
def test_who_shares_an_endpoint_must_want_the_same_of_it(pairing, adds, key):
    pair = pairing()
    with pytest.raises(
        RegistrationError, match=rf"{key}.*must be as in {re.escape(LISTENING)}, whose socket"
    ):
        pair.result(getattr(pair.client, adds)(f"{LISTENING}|{key}", STREAM + 1))


def test_who_shares_a_socket_must_have_images_for_its_longest_messages(pairing):
    pair = pairing(subscribes=False)
    with pytest.raises(RegistrationError, match=r"term-length.*of 8192 bytes, and max-message is 1048576"):
        pair.result(pair.client.add_subscription_async(LISTENING + "|term-length=64k", STREAM))


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
    pair.say(peer, message(b"wrong", hops=header) + message(b"right", hops=8))
    assert pair.bodies() == [b"right"]
    assert pair.counted(counter) == 1


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_payloads_without_room_for_hops_are_discarded_and_the_peer_stays(pairing, length):
    pair = pairing()
    peer = pair.join()
    pair.say(peer, struct.pack(">Q", length) + bytes(length) + message(b"right"))
    assert pair.bodies() == [b"right"]
    assert pair.counted("discards-short") == 1


def test_messages_without_a_hop_are_taken_where_that_is_asked_for(pairing):
    pair = pairing(keys="|accept-zero-hop=true")
    peer = pair.join()
    pair.say(peer, message(b"of mangos", hops=0))
    assert pair.bodies() == [b"of mangos"]


@pytest.mark.parametrize(("ttl", "passes", "exceeds"), [(1, 1, 2), (15, 15, 16), (255, 255, 256)])
def test_the_ttl_is_the_most_hops_that_pass(pairing, ttl, passes, exceeds):
    pair = pairing(keys=f"|ttl={ttl}")
    peer = pair.join()
    pair.say(peer, message(b"in", hops=passes) + message(b"out", hops=exceeds))
    assert pair.bodies() == [b"in"]


def test_hops_that_a_message_has_behind_it_count(pairing):
    pair = pairing()
    peer = pair.join()
    pair.offer(b"m", reserved_value=7)
    assert heard(peer) == message(b"m", hops=8)


def test_a_message_whose_hops_are_spent_is_not_sent(pairing):
    pair = pairing()
    peer = pair.join()
    pair.offer(b"m", reserved_value=255)
    pair.offer(b"next")
    assert heard(peer) == message(b"next")
    assert pair.counted("unsent-hops") == 1


@pytest.mark.parametrize("length", [1025, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_message_that_is_too_long_ends_the_connection_before_memory_is_taken_for_it(pairing, length):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.say(peer, struct.pack(">Q", min(length + 4, (1 << 64) - 1)))
    assert is_gone(peer)
    assert pair.counted("rejects-length") == 1
    assert any("at most 1024; max-message= sets it" in error for error in pair.errors())


def test_a_message_as_long_as_may_be_passes(pairing):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.say(peer, message(bytes(1024)))
    assert pair.bodies() == [bytes(1024)]


def test_a_message_too_long_to_be_sent_is_told_and_the_next_goes(pairing):
    pair = pairing(keys="|max-message=1k")
    peer = pair.join()
    pair.offer(bytes(1025))
    pair.offer(b"next")
    assert heard(peer) == message(b"next")
    assert pair.counted("unsent-length") == 1
    assert any("message of 1025 bytes to be sent: at most 1024" in error for error in pair.errors())


def test_messages_without_a_header_go_between_peers_of_pair0(pairing):
    pair = pairing(keys="|protocol=pair0")
    peer = pair.join(PAIR0)
    pair.say(peer, struct.pack(">Q", 5) + b"plain")
    pair.offer(b"back")
    assert pair.bodies() == [b"plain"]
    assert heard(peer) == struct.pack(">Q", 4) + b"back"


def test_a_first_message_waits_until_the_peer_has_taken_us_where_that_is_asked_for(pairing):
    pair = pairing(DIALING, "|confirm=true|backoff-init=10ms")
    peer = pair.accept()
    pair.say(peer, greeting())
    assert pair.publication.offer(b"first") > 0
    pair.run(100 * MS)
    assert heard(peer) == greeting()
    peer.close()
    pair.run()

    peer = pair.accept()
    pair.say(peer, greeting())
    pair.run(300 * MS)
    assert heard(peer) == greeting() + message(b"first")


def test_a_peer_that_has_said_something_needs_no_waiting_for(pairing):
    pair = pairing(DIALING, "|confirm=true")
    peer = pair.accept()
    pair.say(peer, greeting() + message(b"welcome"))
    assert pair.publication.offer(b"first") > 0
    pair.run(10 * MS)
    assert heard(peer) == greeting() + message(b"first")


def test_a_rejected_image_ends_its_connection(pairing):
    pair = pairing()
    peer = pair.join()
    pair.say(peer, message(b"m"))
    [image] = pair.subscription.images
    operations = pair.client._operations
    operations._command("reject", lambda: operations._driver.reject_image(image.correlation_id, 0, "no more"))
    pair.run(500 * MS)
    assert is_gone(peer) or is_gone(peer)


def test_who_subscribes_to_a_socket_must_want_the_same_of_it_as_other_subscribers(pairing):
    pair = pairing(publishes=False)
    with pytest.raises(RegistrationError, match=r"ttl=9 .*must be as in .*whose socket it shares"):
        pair.result(pair.client.add_subscription_async(LISTENING + "|ttl=9", STREAM + 1))


def test_a_tag_does_not_have_a_channel_share_a_socket_of_another_transport(pairing):
    pair = pairing(publishes=False, subscribes=False)
    channel = "aeron:sp?endpoint=127.0.0.1:5050|mode=dial|tags=3"
    pair.result(pair.client.add_publication_async(channel, STREAM))
    with pytest.raises(RegistrationError, match=r"tags=3 in .*: has the endpoint of"):
        pair.result(pair.client.add_publication_async(f"{channel}|transport=ws", STREAM))
