"""A socket with at most one peer: greetings, messages in both directions, refusals, disconnects."""

from __future__ import annotations

import pytest
from pairing import DIALING, LISTENING, PAIR0, greeting, is_gone, message, received_by

from aeron_core.protocol import commands
from aeron_core.testing.pair import MS, S


@pytest.mark.parametrize("channel", [LISTENING, DIALING])
def test_the_greeting_is_sent_at_once_and_messages_are_exchanged_after_that_of_the_peer(pairing, channel):
    pair = pairing(channel)
    peer = pair.dial() if channel == LISTENING else pair.accept()
    pair.run()
    assert received_by(peer) == greeting()

    pair.send_from(peer, greeting())
    pair.until(lambda: pair.publication.is_connected)
    pair.send_from(peer, message(b"to you"))
    pair.offer(b"to me")

    assert pair.bodies() == [b"to you"]
    assert received_by(peer) == message(b"to me")


def test_greeting_and_messages_may_arrive_in_one_piece(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.send_from(peer, greeting() + message(b"one") + message(b"two"))
    assert pair.bodies() == [b"one", b"two"]


def test_greeting_and_messages_may_arrive_byte_by_byte(pairing):
    pair = pairing()
    peer = pair.dial()
    for byte in greeting() + message(b"one") + message(b""):
        peer.send(bytes([byte]))
        pair.run(2 * MS)
    pair.run()
    assert pair.bodies() == [b"one", b""]


@pytest.mark.parametrize("first_bytes", [b"GET / HTTP/1.1\r\n", b"\0SP\1\0\x11\0\0", b"\0SP\0\0\x11\0\1"])
def test_an_invalid_greeting_ends_the_connection(pairing, first_bytes):
    pair = pairing()
    peer = pair.dial()
    peer.send(first_bytes)
    pair.run()
    assert is_gone(peer) or is_gone(peer)
    assert pair.counted("malformed") == 1
    assert any("not a greeting of SP" in error for error in pair.errors())


def test_a_peer_of_another_protocol_is_refused_with_both_protocols_in_the_log(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.send_from(peer, greeting(PAIR0))
    assert received_by(peer) == greeting()
    assert is_gone(peer)
    assert pair.counted("mismatched") == 1
    assert any(
        "the peer speaks PAIR0 (16), this end PAIR1 (17); protocol= sets it" in error
        for error in pair.errors()
    )


def test_a_silent_connection_is_closed_after_the_handshake_timeout(pairing):
    pair = pairing()
    peer = pair.dial()
    pair.run(9 * S)
    assert received_by(peer) == greeting()
    assert not is_gone(peer)
    pair.run(2 * S)
    assert is_gone(peer)
    assert pair.counted("silent") == 1


def test_a_second_peer_is_refused_after_its_greeting_and_the_first_stays(pairing):
    pair = pairing()
    first = pair.join()
    second = pair.dial()
    pair.send_from(second, greeting())
    assert received_by(second) == greeting()
    assert is_gone(second)
    assert pair.counted("refused") == 1
    assert any("this end is monogamous and has another peer" in error for error in pair.errors())

    pair.send_from(first, message(b"still here"))
    assert pair.bodies() == [b"still here"]


def test_the_next_peer_is_admitted_as_soon_as_the_first_has_disconnected(pairing):
    pair = pairing()
    first = pair.join()
    first.close()
    pair.run()
    second = pair.join()
    pair.send_from(second, message(b"next"))
    assert pair.bodies() == [b"next"]
    assert pair.counted("refused") == 0


def test_the_next_peer_is_admitted_while_messages_of_the_first_are_unread(pairing):
    pair = pairing()
    first = pair.join()
    pair.is_polling = False
    for number in range(50):
        first.send(message(b"%d" % number))
    first.close()
    pair.run()
    second = pair.join()
    pair.send_from(second, message(b"next"))
    pair.is_polling = True
    pair.run()
    assert sorted(pair.bodies()) == sorted([b"%d" % number for number in range(50)] + [b"next"])


def test_a_refused_dialer_backs_off(pairing):
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
    # 100, 200, 400, ... ms, half of each is random.
    assert 5 <= attempts <= 9
    assert pair.counted("refused-by-peer") == attempts
    assert any("it has another peer, or refuses this one" in error for error in pair.errors())


def test_messages_of_a_peer_that_disconnects_at_once_are_received(pairing):
    pair = pairing(DIALING)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(b"all that I have"))
    peer.close()
    pair.run()
    assert pair.bodies() == [b"all that I have"]
    assert pair.counted("refused-by-peer") == 0


def test_messages_of_a_peer_that_disconnects_at_once_wait_for_a_subscription(pairing):
    pair = pairing(DIALING, subscribes=False)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(b"all that I have"))
    peer.close()
    pair.run()
    pair.subscription = pair.subscribe()
    pair.run()
    assert pair.bodies() == [b"all that I have"]


def test_a_peer_that_disconnects_within_its_first_message_has_not_refused_this_end(pairing):
    pair = pairing(DIALING)
    peer = pair.accept()
    pair.run()
    peer.send(greeting() + message(bytes(100))[:50])
    peer.close()
    pair.run()
    assert pair.counted("lost") == 1
    assert pair.counted("refused-by-peer") == 0


def test_a_dialer_whose_connection_worked_reconnects_soon(pairing):
    pair = pairing(DIALING, "|backoff-init=100ms|backoff-max=60s")
    for _ in range(8):
        peer = pair.accept()
        pair.send_from(peer, greeting() + message(b"m"))
        begin = pair.clock.nano_time()
        peer.close()
        pair.until(lambda: pair.counted("peers") == 0)
    peer = pair.accept()
    assert pair.clock.nano_time() - begin < 1 * S


def test_messages_of_an_interrupted_draft_are_sent_completely_and_once_to_the_next_peer(pairing):
    pair = pairing()
    first = pair.join()
    first.capacity = 30
    bodies = [b"message %d" % number for number in range(20)]
    for body in bodies:
        assert pair.publication.offer(body) > 0
    pair.run()
    first_part = received_by(first)
    first.close()
    pair.run()
    second = pair.join()
    pair.run()
    second_part = received_by(second)
    whole = len(first_part) // len(message(bodies[0]))
    assert 0 < whole < len(bodies)
    assert first_part.startswith(b"".join(map(message, bodies[:whole])))
    assert second_part == b"".join(map(message, bodies[whole:]))


def test_a_long_message_that_was_cut_is_sent_completely_to_the_next_peer(pairing):
    pair = pairing()
    first = pair.join()
    first.capacity = 100
    body = bytes(8192)
    assert pair.publication.offer(body) > 0
    pair.run()
    assert len(received_by(first)) == 100
    first.close()
    pair.run()
    second = pair.join()
    pair.run()
    assert received_by(second) == message(body)


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
    pair.send_from(peer, data[sent:])
    pair.until(lambda: len(pair.received) == 20_000)
    assert pair.bodies() == [b"%08d" % number for number in range(20_000)]


def test_with_confirm_the_first_message_waits_until_the_peer_has_accepted_this_end(pairing):
    pair = pairing(DIALING, "|confirm=true|backoff-init=10ms")
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


def test_with_confirm_a_peer_that_has_sent_a_message_is_not_waited_for(pairing):
    pair = pairing(DIALING, "|confirm=true")
    peer = pair.accept()
    pair.send_from(peer, greeting() + message(b"welcome"))
    assert pair.publication.offer(b"first") > 0
    pair.run(10 * MS)
    assert received_by(peer) == greeting() + message(b"first")


def test_a_rejected_image_ends_its_connection(pairing):
    pair = pairing()
    peer = pair.join()
    pair.send_from(peer, message(b"m"))
    [image] = pair.subscription.images
    operations = pair.client._operations
    operations.command("reject", commands.RejectImage, image.correlation_id, 0, "no more")
    pair.run(500 * MS)
    assert is_gone(peer) or is_gone(peer)
