"""Datagrams of a sealed channel, opened and sealed by an implementation that was written from the wire page alone."""

import itertools
import os

import pytest
from aeron_security._native.sealing import OVERHEAD, SealingSession, is_available
from cryptography.exceptions import InvalidTag
from sealed_side import OTHER, PUBLICATION, SECRET, SUBSCRIPTION, THERE, Side, admitted
from secure_udp import CHALLENGE, Peer, open_sealed

from aeron_core._native.clock import Clock

CIPHERS = [1, 2, 3]


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


def test_a_run_is_sent_in_pieces_so_that_the_receiver_opens_one_while_the_next_is_sealed():
    side = Side()
    sealed_when_sent = []
    send = side.wire.send

    def note(datagram, destination):
        sealed_when_sent.append(side.session.counts()["sealed"])
        send(datagram, destination)

    side.wire.send = note

    assert side.send((bytes(62_000), 1000)) == (1, 62_000)

    # 31 sealed datagrams are at most 33,000 bytes.
    assert sealed_when_sent == [31] * 31 + [62] * 31
    assert len({open_sealed(SECRET, 1, datagram).freshness for datagram, _ in side.wire.sent}) == 1


def test_short_messages_are_sealed_together_before_they_are_sent():
    side = Side()
    sealed_when_sent = []
    send = side.wire.send

    def note(datagram, destination):
        sealed_when_sent.append(side.session.counts()["sealed"])
        send(datagram, destination)

    side.wire.send = note

    assert side.send(*[(bytes(600 + 4 * i), 604) for i in range(16)]) == (
        16,
        sum(600 + 4 * i for i in range(16)),
    )

    # Those of 604 bytes and less are one datagram each, the others two.
    assert sealed_when_sent == [30] * 30


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


def test_secrets_that_are_accepted_beside_the_first_open_but_do_not_seal():
    side, peer = Side(secrets=(SECRET, OTHER)), Peer(OTHER, 1, SUBSCRIPTION)

    assert side.receive(peer.seal(b"x")) == []

    (challenge, _) = side.wire.sent[0]
    assert open_sealed(SECRET, 1, challenge).kind == CHALLENGE
    with pytest.raises((InvalidTag, AssertionError)):
        open_sealed(OTHER, 1, challenge)


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
