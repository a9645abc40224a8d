"""Datagrams of a sealed channel, opened and sealed by an implementation that was written from the wire page alone."""

import itertools
import os
import random
import sys

import pytest
from aeron_security._native.sealing import OVERHEAD, REASONS, SealedDatagrams, SealingSession, is_available
from cryptography.exceptions import InvalidTag
from secure_udp import ANSWER, CHALLENGE, Peer, open_sealed

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

HERE, THERE = SocketAddress.of("127.0.0.1", 1), SocketAddress.of("127.0.0.1", 2)
SECRET, OTHER = bytes(range(32)), bytes(32)
PUBLICATION, SUBSCRIPTION = 0, 1
CIPHERS = [1, 2, 3]
MS = 1_000_000


class Wire:
    """A socket: returns `waiting`, and keeps what is sent, at most `space` datagrams a call."""

    def __init__(self):
        self.waiting, self.sent = [], []

    def receive(self, limit):
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def send(self, datagram, destination):
        self.sent.append((bytes(datagram), destination))

    def local_address(self):
        return HERE

    def close(self):
        pass


class Side:
    """A sealed channel over a `Wire`."""

    def __init__(self, cipher=1, role=PUBLICATION, secrets=(SECRET,), clock=None, **options):
        self.clock = clock or Clock.manual()
        self.wire = Wire()
        self.session = SealingSession(list(secrets), cipher, role, 1 - role, self.clock, **options)
        self.probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(self.wire), self.session))

    def send(self, *runs):
        return self.probe.send(list(runs), THERE)

    def receive(self, *datagrams):
        """Receive datagrams from the wire; return the contents that the channel gives."""
        self.wire.waiting += [(datagram, THERE) for datagram in datagrams]
        found = []
        while self.wire.waiting:
            slots = self.probe.receive()
            assert all(slot.datagrams != [b""] for slot in slots)
            found += [content for slot in slots for content in slot.datagrams if content]
        return found

    @property
    def refused(self):
        return {name: count for name, count in self.session.counts().items() if name in REASONS and count}

    def admit(self, peer):
        """Let a peer prove itself."""
        assert self.receive(peer.seal(b"first")) == []
        (challenge, _) = self.wire.sent.pop()
        assert self.receive(peer.answer(challenge)) == []


def admitted(cipher=1, **options):
    side, peer = Side(cipher, **options), Peer(SECRET, cipher, SUBSCRIPTION)
    side.admit(peer)
    return side, peer


def test_libcrypto_is_found_here():
    assert is_available()


@pytest.mark.parametrize("cipher", CIPHERS)
@pytest.mark.parametrize("content", [b"x", bytes(1344), os.urandom(8192)], ids=len)
def test_what_is_sent_can_be_opened_from_the_wire_page(cipher, content):
    side = Side(cipher)

    taken = side.send((content, len(content)))

    assert taken == (1, len(content))
    ((datagram, destination),) = side.wire.sent
    opened = open_sealed(SECRET, cipher, datagram)
    assert (opened.content, opened.role, opened.salt, opened.number) == (
        content,
        PUBLICATION,
        side.session.salt,
        1,
    )
    assert destination == THERE
    assert len(datagram) == len(content) + OVERHEAD


@pytest.mark.parametrize("cipher", CIPHERS)
def test_datagrams_of_a_run_are_sealed_one_by_one(cipher):
    side = Side(cipher)
    run = os.urandom(3 * 1344 + 100)

    assert side.send((run, 1344), (b"single", 6)) == (2, len(run) + 6)

    contents = [open_sealed(SECRET, cipher, datagram).content for datagram, _ in side.wire.sent]
    assert contents == [run[:1344], run[1344:2688], run[2688:4032], run[4032:], b"single"]


def test_more_than_the_memory_for_sealed_datagrams_is_sent_in_rounds():
    side = Side()
    runs = [(os.urandom(60_000), 1344) for _ in range(16)]

    assert side.send(*runs) == (16, 16 * 60_000)

    sent = b"".join(open_sealed(SECRET, 1, datagram).content for datagram, _ in side.wire.sent)
    assert sent == b"".join(data for data, _ in runs)
    assert max(len(datagram) for datagram, _ in side.wire.sent) == 1344 + OVERHEAD


def test_numbers_and_freshness_never_repeat():
    side = Side()
    for _ in range(200):
        side.send((b"abcdef", 2))

    opened = [open_sealed(SECRET, 1, datagram) for datagram, _ in side.wire.sent]

    assert [each.number for each in opened] == list(range(1, 601))
    assert len({each.freshness for each in opened}) == 200


@pytest.mark.parametrize("cipher", CIPHERS)
def test_frames_of_an_admitted_peer_are_received(cipher):
    side, peer = admitted(cipher)

    assert side.receive(peer.seal(b"one"), peer.seal(b"two")) == [b"one", b"two"]


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


def test_two_channels_prove_themselves_to_each_other():
    clock = Clock.manual()
    sender, receiver = Side(clock=clock), Side(role=SUBSCRIPTION, clock=clock)

    sender.send((b"setup", 5))
    for source, to in itertools.islice(itertools.cycle([(sender, receiver), (receiver, sender)]), 6):
        sent, source.wire.sent = source.wire.sent, []
        assert to.receive(*(datagram for datagram, _ in sent)) == []

    sender.send((b"data", 4))
    receiver.send((b"status", 6))
    assert receiver.receive(*(datagram for datagram, _ in sender.wire.sent)) == [b"data"]
    assert sender.receive(*(datagram for datagram, _ in receiver.wire.sent)) == [b"status"]


def test_a_datagram_is_received_once():
    side, peer = admitted()
    datagrams = [peer.seal(bytes([i])) for i in range(100)]

    assert len(side.receive(*datagrams)) == 100
    assert side.receive(*datagrams) == []
    assert side.refused["replayed"] == 100


def test_datagrams_may_arrive_in_another_order_within_the_window():
    side, peer = admitted()
    datagrams = [peer.seal(i.to_bytes(4, "little")) for i in range(4000)]
    late, on_time = datagrams[:1900], datagrams[1900:]

    assert len(side.receive(*reversed(on_time[:2000]))) == 2000
    assert len(side.receive(*on_time[2000:])) == 100
    # The greatest number is 3999 from the first: 2047 before it are in the window.
    assert len(side.receive(*late)) == 0
    assert side.receive(*on_time) == []


@pytest.mark.parametrize("gap", [1, 63, 64, 65, 2047, 2048, 5000, 1 << 40])
def test_a_window_moves_by_any_number(gap):
    side, peer = admitted()
    start = peer.number
    later = peer.seal(b"later", number=start + gap + 1)
    assert side.receive(later) == [b"later"]

    for number in {start + gap, start + gap - 1, start + 1} - {start}:
        expected = [b"late"] if gap + 1 - (number - start) < 2048 else []
        assert side.receive(peer.seal(b"late", number=number)) == expected
        assert side.receive(peer.seal(b"late", number=number)) == []
    assert side.receive(later) == []


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


def test_unknown_salts_are_checked_64_times_in_10_ms_and_known_ones_always():
    side, peer = admitted()
    side.clock.advance(10 * MS)
    garbage = [Peer(OTHER, 1, SUBSCRIPTION) for _ in range(100)]
    forged = [bytearray(each.seal(b"x")) for each in garbage]
    for each in forged:
        each[7] = Peer(SECRET, 1, SUBSCRIPTION).seal(b"")[7]

    assert side.receive(*map(bytes, forged), peer.seal(b"known")) == [b"known"]
    assert (side.refused["forged"], side.refused["busy"]) == (64, 36)

    side.clock.advance(10 * MS)
    side.receive(bytes(forged[0]))
    assert side.refused["forged"] == 65


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
        # Of unknown salts, 64 are checked in 10 ms.
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


def test_secrets_that_are_accepted_beside_the_first_open_but_do_not_seal():
    side, peer = Side(secrets=(SECRET, OTHER)), Peer(OTHER, 1, SUBSCRIPTION)

    assert side.receive(peer.seal(b"x")) == []

    (challenge, _) = side.wire.sent[0]
    assert open_sealed(SECRET, 1, challenge).kind == CHALLENGE
    with pytest.raises((InvalidTag, AssertionError)):
        open_sealed(OTHER, 1, challenge)


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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([], 1, 0, 1), "0 secrets: must be from 1 to 4"),
        (([SECRET] * 5, 1, 0, 1), "5 secrets: must be from 1 to 4"),
        (([b"short"], 1, 0, 1), "a secret of 5 bytes: must be 32"),
        (([SECRET], 4, 0, 1), "cipher=4: must be from 1 to 3"),
    ],
)
def test_wrong_arguments_of_a_session_are_refused(arguments, text):
    with pytest.raises(ValueError, match=text):
        SealingSession(*arguments, Clock.manual())


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
