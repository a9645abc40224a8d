"""Which datagrams a sealed channel accepts: challenges and answers, rotations, refusals and limits."""

import os
import random
import sys

import pytest
from sealed_side import HERE, OTHER, PUBLICATION, SECRET, SUBSCRIPTION, THERE, Side, admitted
from secure_udp import ANSWER, CHALLENGE, Peer, open_sealed

from aeron_core._native.address import SocketAddress

CIPHERS = [1, 2, 3]
MS = 1_000_000


def test_an_unknown_peer_is_challenged_and_its_datagram_is_dropped():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)

    assert side.receive(peer.seal(bytes(36))) == []

    ((challenge, destination),) = side.wire.sent
    opened = open_sealed(SECRET, 1, challenge)
    assert (opened.kind, opened.content[:16], destination) == (CHALLENGE, peer.salt, THERE)
    assert len(challenge) <= len(peer.seal(bytes(36)))
    assert side.refused == {"unproved": 1}


def test_an_answer_to_another_challenge_admits_nothing():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
    side.receive(peer.seal(b"first"))
    other = Peer(SECRET, 1, SUBSCRIPTION)
    token = open_sealed(SECRET, 1, side.wire.sent[0][0]).content[16:]

    side.receive(other.seal(token, ANSWER), peer.seal(os.urandom(16), ANSWER))

    assert side.receive(peer.seal(b"second"), other.seal(b"second")) == []


def test_an_old_answer_admits_nothing():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
    side.receive(peer.seal(b"first"))
    answer = peer.answer(side.wire.sent.pop()[0])
    side.clock.advance(17_000 * MS)

    side.receive(answer)

    assert side.receive(peer.seal(b"second")) == []


def test_what_was_sent_before_the_answer_is_not_received_after_it():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
    recorded = [peer.seal(b"recorded") for _ in range(5)]
    side.admit(peer)

    assert side.receive(*recorded) == []
    assert side.receive(peer.seal(b"new")) == [b"new"]


def test_challenges_are_answered_and_their_source_is_challenged_too():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
    token = os.urandom(16)

    side.receive(peer.seal(side.session.salt + token, CHALLENGE))

    kinds = [open_sealed(SECRET, 1, datagram) for datagram, _ in side.wire.sent]
    assert [(each.kind, each.content[:16]) for each in kinds] == [(ANSWER, token), (CHALLENGE, peer.salt)]


def test_a_challenge_of_another_socket_is_not_answered():
    side, peer = admitted()

    side.receive(peer.seal(os.urandom(32), CHALLENGE), peer.seal(b"short", CHALLENGE))

    assert side.wire.sent == []


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_datagram_with_any_bit_flipped_is_refused(cipher):
    side, peer = admitted(cipher)
    datagram = peer.seal(b"frames")

    for bit in range(8 * len(datagram)):
        side.clock.advance(20 * MS)
        flipped = bytearray(datagram)
        flipped[bit // 8] ^= 1 << bit % 8
        assert side.receive(bytes(flipped)) == []

    assert side.receive(datagram) == [b"frames"]


def test_a_datagram_that_is_cut_or_extended_is_refused():
    side, peer = admitted()
    datagram, other = peer.seal(bytes(100)), peer.seal(bytes(100))

    assert side.receive(*(datagram[:length] for length in range(len(datagram)))) == []
    assert side.receive(datagram + b"\0", datagram[:90] + other[90:]) == []

    assert len(side.receive(datagram, other)) == 2


REFUSED = [
    ("plain", lambda: bytes(100)),
    ("plain", lambda: b"AeSU\2" + bytes(100)),
    ("plain", lambda: b""),
    ("secret", lambda: Peer(OTHER, 1, SUBSCRIPTION).seal(b"x")),
    ("role", lambda: Peer(SECRET, 1, PUBLICATION).seal(b"x")),
    ("forged", lambda: Peer(SECRET, 2, SUBSCRIPTION).seal(b"x")),
]


@pytest.mark.parametrize(("reason", "make"), REFUSED, ids=[reason for reason, _ in REFUSED])
def test_a_refusal_is_counted_with_its_reason(reason, make):
    side = Side()

    assert side.receive(make()) == []

    assert side.refused == {reason: 1}
    assert side.wire.sent == []


def test_a_channel_does_not_receive_what_it_sent():
    side = Side()
    own = Peer(SECRET, 1, SUBSCRIPTION, side.session.salt)

    assert side.receive(own.seal(b"echo")) == []

    assert side.refused == {"echo": 1}


def forged_of(count):
    """Return datagrams with new salts and the right secret id, which only their tags show to be forged."""
    found = [bytearray(Peer(OTHER, 1, SUBSCRIPTION).seal(b"x")) for _ in range(count)]
    for each in found:
        each[7] = Peer(SECRET, 1, SUBSCRIPTION).seal(b"")[7]
    return [bytes(each) for each in found]


def test_unknown_salts_are_checked_128_times_in_10_ms_and_known_ones_always():
    side, peer = admitted()
    side.clock.advance(10 * MS)

    for number, datagram in enumerate(forged_of(500)):
        side.receive(datagram, source=SocketAddress.of(f"10.{number // 250}.{number % 250}.1", 1))
    assert side.receive(peer.seal(b"known")) == [b"known"]
    assert (side.refused["forged"], side.refused["busy"]) == (128, 372)

    side.clock.advance(10 * MS)
    side.receive(*forged_of(1))
    assert side.refused["forged"] == 129


@pytest.mark.parametrize(
    ("flooding", "other"),
    [
        (["10.0.0.9"], "10.0.0.1"),
        ([f"2001:db8::{number}" for number in range(9)], "2001:db8:1::1"),
        (["fe80::9"], "fe80::1"),
        (["::ffff:10.0.0.9"], "::ffff:10.0.0.1"),
    ],
)
def test_unknown_salts_of_one_source_do_not_use_up_the_limit_of_others(flooding, other):
    # Two sources share a limit with a probability of 1/64: five times of eight in one of 20 million runs.
    admitted_count = 0
    for _ in range(8):
        side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
        for number, datagram in enumerate(forged_of(200)):
            side.receive(datagram, source=SocketAddress.of(flooding[number % len(flooding)], number + 1))
        assert (side.refused["forged"], side.refused["busy"]) == (16, 184)

        side.receive(peer.seal(b"first"), source=SocketAddress.of(other, 1))
        if side.wire.sent:
            side.receive(peer.answer(side.wire.sent.pop()[0]), source=SocketAddress.of(other, 1))
        admitted_count += side.receive(peer.seal(b"x")) == [b"x"]

    assert admitted_count >= 4


def test_a_flood_of_unknown_salts_does_not_delay_a_rotation():
    side, peer = admitted()
    side.clock.advance(10 * MS)
    for number, datagram in enumerate(forged_of(500)):
        side.receive(datagram, source=SocketAddress.of(f"10.{number // 250}.{number % 250}.1", 1))
    assert side.refused["forged"] == 128

    peer.rotate()

    assert side.receive(peer.seal(b"rotated")) == [b"rotated"]


def test_a_peer_that_sends_much_before_it_is_admitted_can_answer():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)

    side.receive(*(peer.seal(b"much") for _ in range(1000)))
    ((challenge, _),) = side.wire.sent
    side.receive(peer.answer(challenge))

    assert side.receive(peer.seal(b"x")) == [b"x"]
    assert side.refused == {"unproved": 1000}


def test_a_recorded_answer_does_not_admit_a_salt_again_that_was_forgotten_at_rotations():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)
    side.receive(peer.seal(b"first"))
    answer = peer.answer(side.wire.sent.pop()[0])
    side.receive(answer)
    recorded = [peer.seal(b"order") for _ in range(5)]
    assert side.receive(*recorded) == [b"order"] * 5

    # The least rotation interval: tokens are right for 8 s at least.
    for _ in range(2):
        side.clock.advance(1000 * MS)
        peer.rotate()
        assert side.receive(peer.seal(b"after")) == [b"after"]
    side.clock.advance(200 * MS)
    side.receive(answer)

    assert side.receive(*recorded) == []


def test_a_group_is_sent_few_challenges_in_10_ms():
    side = Side(reply_address=HERE)

    side.receive(*(Peer(SECRET, 1, SUBSCRIPTION).seal(b"x") for _ in range(16)))

    assert [destination for _, destination in side.wire.sent] == [HERE] * 8


def test_a_salt_is_challenged_once_in_100_ms():
    side, peer = Side(), Peer(SECRET, 1, SUBSCRIPTION)

    side.receive(*(peer.seal(b"x") for _ in range(10)))
    assert len(side.wire.sent) == 1

    side.clock.advance(100 * MS)
    side.receive(*(peer.seal(b"x") for _ in range(10)))
    assert len(side.wire.sent) == 2


def test_a_socket_rotates_its_salt_by_number_and_its_peers_follow():
    side, peer = Side(rotate_numbers=3), Peer(SECRET, 1, SUBSCRIPTION)
    follower = Peer(SECRET, 1, PUBLICATION, side.session.salt)

    for _ in range(7):
        side.send((b"x", 1))

    salts = [open_sealed(SECRET, 1, datagram).salt for datagram, _ in side.wire.sent]
    numbers = [open_sealed(SECRET, 1, datagram).number for datagram, _ in side.wire.sent]
    expected = []
    for _ in range(3):
        expected += [follower.salt] * 3
        follower.rotate()
    assert salts == expected[:7]
    assert numbers == [1, 2, 3, 1, 2, 3, 1]
    assert side.session.counts()["rotations"] == 2
    assert peer.salt not in salts


def test_a_socket_rotates_its_salt_by_time():
    side = Side(rotate_interval_ns=1000 * MS)
    first = side.session.salt

    side.clock.advance(1000 * MS)
    side.send((b"x", 1))

    assert side.session.salt != first


def test_a_peer_that_rotates_is_received_without_a_challenge():
    side, peer = admitted()
    held = peer.seal(b"held")

    for _ in range(1000):
        side.clock.advance(MS)
        peer.rotate()
        assert side.receive(peer.seal(b"rotated")) == [b"rotated"]

    assert side.wire.sent == []
    assert side.receive(held) == []


def test_the_salt_before_a_rotation_is_received_for_late_datagrams():
    side, peer = admitted()
    late = peer.seal(b"late")
    peer.rotate()

    assert side.receive(peer.seal(b"next"), late, late) == [b"next", b"late"]


def test_datagrams_of_a_salt_that_was_forgotten_are_not_received_again_as_those_of_its_predecessors_next():
    side, peer = admitted()
    # A host on the path holds datagrams back, with which it keeps the salt before the rotation from being forgotten.
    held = [peer.seal(b"held") for _ in range(3)]
    peer.rotate()
    recorded = [peer.seal(b"recorded") for _ in range(3)]
    assert side.receive(*recorded) == [b"recorded"] * 3
    for datagram in held:
        side.clock.advance(25_000 * MS)
        assert side.receive(datagram) == [b"held"]
    side.admit(Peer(SECRET, 1, SUBSCRIPTION))

    assert side.receive(*recorded) == []

    (challenge, _) = side.wire.sent.pop()
    side.receive(peer.answer(challenge))
    assert side.receive(peer.seal(b"back")) == [b"back"]


def test_peers_that_are_silent_for_a_minute_prove_themselves_again():
    side, peer = admitted()
    side.clock.advance(61_000 * MS)
    other = Peer(SECRET, 1, SUBSCRIPTION)
    side.admit(other)

    assert side.receive(peer.seal(b"back")) == []
    (challenge, _) = side.wire.sent.pop()
    side.receive(peer.answer(challenge))

    assert side.receive(peer.seal(b"again"), other.seal(b"x")) == [b"again", b"x"]


def test_a_session_has_place_for_4096_peers_and_forgets_the_oldest():
    side = Side()
    peers = []
    for _ in range(4097):
        side.clock.advance(MS)
        peers.append(Peer(SECRET, 1, SUBSCRIPTION))
        side.admit(peers[-1])
        side.clock.advance(9 * MS)

    assert side.receive(peers[-1].seal(b"x")) == [b"x"]
    assert side.receive(peers[1].seal(b"x")) == [b"x"]
    side.wire.sent.clear()
    assert side.receive(peers[0].seal(b"x")) == []
    assert len(side.wire.sent) == 1


def test_garbage_of_any_length_is_refused_without_an_effect():
    side, peer = admitted()
    numbers = random.Random(1)
    for _ in range(2000):
        side.receive(numbers.randbytes(numbers.randrange(200)))
        known = bytearray(peer.seal(b"x"))
        known[numbers.randrange(32, len(known))] ^= 1 + numbers.randrange(255)
        assert side.receive(bytes(known)) == []

    assert side.receive(peer.seal(b"x")) == [b"x"]
    assert sys.getrefcount(side.session) < 10
