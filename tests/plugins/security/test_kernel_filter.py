"""A flood of strangers is dropped in the kernel, and nothing else is."""

import os
import select

import pytest
from flooded_socket import (
    FLOOD,
    LOOPBACK,
    PUBLICATION,
    SECRET,
    SUBSCRIPTION,
    Receiver,
    S,
    arrived,
    greeting,
    stranger,
)
from secure_udp import ANSWER, Peer

from aeron_core.spi.udp_offload import SOL_UDP, UDP_SEGMENT


@pytest.mark.parametrize("family", LOOPBACK)
@pytest.mark.parametrize("waste", [stranger, lambda: os.urandom(200), lambda: b"short", lambda: b""])
def test_a_flood_is_dropped_and_an_admitted_peer_is_received(family, waste):
    receiver, peer = Receiver(family), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host(), receiver.host()
    receiver.admit(peer, host)

    first = receiver.passed(*(waste() for _ in range(FLOOD)), source=flooder)
    receiver.start_flood(flooder)
    later = receiver.passed(*(waste() for _ in range(FLOOD)), source=flooder)

    assert first == FLOOD
    assert later < FLOOD // 8
    contents = [bytes([number]) for number in range(100)]
    assert receiver.receive(*map(peer.seal, contents), source=host) == contents
    for _ in range(3):
        peer.rotate()
        assert receiver.receive(*map(peer.seal, contents), source=host) == contents


def test_the_filter_is_removed_within_a_second_after_a_flood():
    receiver = Receiver()
    flooder = receiver.host()
    receiver.start_flood(flooder)

    receiver.receive(source=flooder)
    assert receiver.passed(*(stranger() for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    for _ in range(100):
        receiver.receive(source=flooder)

    assert receiver.passed(*(stranger() for _ in range(200)), source=flooder) == 200


def test_a_burst_is_no_flood():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host(), receiver.host()
    for _ in range(3):
        bursts = *(stranger() for _ in range(150)), *(stranger(ANSWER) for _ in range(100))
        assert receiver.passed(*bursts[::2], source=flooder) == 125
        assert receiver.passed(*bursts, source=flooder) == 250
        for _ in range(44):
            receiver.receive(source=flooder)

    receiver.admit(peer, host)


def test_a_new_peer_that_sends_much_is_admitted():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    host = receiver.host()
    # It is taken for a flood, as it was sending to others before.
    for _ in range(3):
        receiver.receive(*(peer.seal(b"data") for _ in range(FLOOD)), source=host)
    challenge = host.recv(2048)

    receiver.receive(peer.answer(challenge), source=host)

    contents = [bytes([number]) for number in range(100)]
    assert receiver.receive(*map(peer.seal, contents), source=host) == contents


def test_a_flood_of_handshakes_is_dropped():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    receiver.admit(peer, host)
    receiver.start_flood(flooder, ANSWER)

    assert receiver.passed(*(stranger(ANSWER) for _ in range(FLOOD)), source=flooder) < FLOOD // 8
    assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]


def test_a_known_salt_of_a_forger_is_not_taken_for_a_flood():
    receiver, peer = Receiver(), Peer(SECRET, 1, PUBLICATION)
    host = receiver.host()
    receiver.admit(peer, host)
    recorded = peer.seal(b"data")
    receiver.receive(recorded, source=host)
    for _ in range(4):
        assert receiver.passed(*[recorded] * FLOOD, source=host) == FLOOD

    assert receiver.passed(*(stranger() for _ in range(200)), source=host) == 200


@pytest.mark.parametrize(
    ("count", "is_rotated", "has_filter"), [(96, False, True), (97, False, False), (60, True, True)]
)
def test_a_socket_with_many_peers_has_no_filter(count, is_rotated, has_filter):
    receiver = Receiver()
    host = receiver.host()
    for _ in range(count):
        peer = Peer(SECRET, 1, PUBLICATION)
        receiver.admit(peer, host)
        if is_rotated:
            # Its salt is then also the next one of the salt before.
            peer.rotate()
            assert receiver.receive(peer.seal(b"data"), source=host) == [b"data"]

    receiver.start_flood(host)

    passed = receiver.passed(*(stranger() for _ in range(FLOOD)), source=host)
    assert passed < FLOOD // 8 if has_filter else passed == FLOOD


def test_a_flood_of_handshakes_for_other_sockets_is_dropped():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder = receiver.host("127.0.0.2")
    for _ in range(3):
        receiver.passed(*(greeting() for _ in range(FLOOD)), source=flooder)

    assert arrived(receiver, *(greeting() for _ in range(FLOOD)), source=flooder) < FLOOD // 8


def test_a_stranger_without_the_salt_of_a_socket_does_not_keep_handshakes_from_it():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder, host = receiver.host(), receiver.host()
    for _ in range(3):
        receiver.passed(*(greeting(SUBSCRIPTION) for _ in range(FLOOD)), source=flooder)

    # Of the same source, which the stranger has forged.
    receiver.receive(greeting(to=receiver.session.salt), source=host)

    assert host.recv(2048)[5] == 4


def test_a_stranger_with_the_first_bytes_of_a_salt_does_not_keep_new_peers_out():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    # The filter passes these, because it compares four bytes of a salt. Every host can ask for it by a hello.
    begin = receiver.session.salt[:4]
    for _ in range(20):
        receiver.passed(*(greeting(to=begin + os.urandom(12)) for _ in range(FLOOD)), source=flooder)

    assert arrived(receiver, *(stranger() for _ in range(50)), source=host) == 50
    receiver.receive(greeting(to=receiver.session.salt), source=host)
    assert host.recv(2048)[5] == 4


def test_a_stranger_with_the_first_bytes_of_the_salt_of_a_peer_does_not_keep_new_peers_out():
    receiver, peer, new = Receiver(), Peer(SECRET, 1, PUBLICATION), Peer(SECRET, 1, PUBLICATION)
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    receiver.admit(peer, host)
    begin = peer.seal(b"data")[:12]
    for _ in range(20):
        assert receiver.passed(*(begin + os.urandom(100) for _ in range(FLOOD)), source=flooder) == FLOOD

    receiver.admit(new, host)

    assert receiver.receive(new.seal(b"data"), source=host) == [b"data"]


def test_a_socket_is_not_addressed_by_zeros():
    receiver = Receiver(public_key=bytes(31) + b"\1")
    host = receiver.host()

    receiver.receive(greeting(to=bytes(16)), source=host)

    assert not select.select([host], [], [], 0.1)[0]


@pytest.mark.parametrize("address", ["127.0.0.2", "127.0.0.3"])
def test_few_datagrams_of_a_stranger_do_not_keep_the_filter(address):
    receiver = Receiver()
    flooder, other = receiver.host("127.0.0.2"), receiver.host(address)
    receiver.start_flood(flooder)

    for _ in range(150):
        receiver.receive(stranger(), stranger(), source=other)

    assert receiver.passed(*(stranger() for _ in range(50)), source=flooder) == 50


def test_a_flood_keeps_the_filter():
    receiver = Receiver()
    flooder = receiver.host("127.0.0.2")

    passed = [receiver.passed(*(stranger() for _ in range(80)), source=flooder) for _ in range(300)]

    assert sum(passed[10:]) < 290 * 80 // 16


def test_a_filter_that_the_conductor_has_removed_is_attached_again():
    receiver = Receiver()
    flooder, host = receiver.host("127.0.0.2"), receiver.host()
    run = [stranger() for _ in range(60)]
    flooder.setsockopt(SOL_UDP, UDP_SEGMENT, len(run[0]))
    for _ in range(30):
        for _ in range(200):
            flooder.send(b"".join(run))
            receiver.take()
        receiver.receive(source=host)
    receiver.clock.advance(1 * S)
    receiver.session.end_filters(receiver.clock.nano_time())
    assert arrived(receiver, *(stranger() for _ in range(50)), source=host) == 50

    # The average of the flood is not small yet.
    receiver.receive(source=host)

    assert arrived(receiver, b"".join(run), source=flooder) < len(run) // 2


def test_the_filter_is_removed_if_the_agent_does_not_receive():
    receiver = Receiver()
    flooder = receiver.host()
    receiver.start_flood(flooder)

    # With many endpoints, an agent looks only at those with datagrams.
    receiver.clock.advance(1 * S)
    receiver.session.end_filters(receiver.clock.nano_time())

    flooder.send(stranger())
    assert select.select([receiver.socket], [], [], 1)[0]
    assert receiver.passed(*(stranger() for _ in range(49)), source=flooder) == 50
