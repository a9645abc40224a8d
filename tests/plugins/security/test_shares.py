"""Shares of limits: neither strangers nor one peer use up what others need for their handshakes."""

import os

import pytest
from aeron_security._native.sealing import ADMIT, GREET
from identities import COOKIE, FIRST, HELLO, IdentityPeer, public
from sealed_side import PUBLICATION, SUBSCRIPTION, Side

from aeron_core._native.address import SocketAddress

OURS, THEIRS, OTHER = bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32
MS = 1_000_000
#: That a handshake can begin with: at least 80 bytes when sealed.
FRAME = bytes(32)
HOME = SocketAddress.of("10.0.0.2", 1)
STRANGER = SocketAddress.of("10.0.0.9", 1)
GROUP = SocketAddress.of("224.0.1.1", 20121)


class Member:
    """A subscription with an identity."""

    def __init__(self, group=None):
        self.side = Side(
            role=SUBSCRIPTION, secrets=(os.urandom(32),), public_key=public(OURS), reply_address=group
        )
        self.salt = self.side.session.salt

    def peer(self, private=THEIRS, owner=0):
        """Return a peer; with the number of an owner, its secret is admitted."""
        peer = IdentityPeer(private, PUBLICATION, 1, [public(OURS)])
        if owner:
            assert self.side.session.order(ADMIT, owner, public(private), peer.prk, 0)
            self.side.probe.receive()
        return peer

    def receive(self, *datagrams, source=HOME):
        """Receive datagrams; return what is sent because of them."""
        self.side.wire.sent.clear()
        self.side.receive(*datagrams, source=source)
        return self.side.wire.datagrams()

    def unknown(self, kind=0):
        """Return a datagram of a stranger, with an unknown salt."""
        head = b"AeSU\1" + bytes([kind, PUBLICATION, 1]) + os.urandom(16)
        return head + self.salt + os.urandom({FIRST: 128}.get(kind, 40))


def many_sources(count):
    return [SocketAddress.of(f"10.{number // 250}.{number % 250}.1", 1) for number in range(count)]


@pytest.mark.parametrize("group", [None, GROUP])
def test_an_identity_with_many_salts_does_not_keep_others_from_their_handshakes(group):
    member = Member(group)
    hostile = [member.peer(owner=1) for _ in range(200)]
    peer = member.peer(OTHER, owner=2)
    assert member.side.session.order(GREET, 0, public(OURS), bytes(32), 0)
    member.side.probe.receive()
    for each in hostile:
        member.receive(each.seal(FRAME))

    (hello,) = member.receive(peer.seal(FRAME))

    assert hello[5] == HELLO
    assert hello[24:40] == peer.salt


@pytest.mark.parametrize("group", [None, GROUP])
def test_a_network_of_ipv6_is_one_source(group):
    member = Member(group)
    peer = member.peer()
    for number in range(300):
        member.receive(member.unknown(), source=SocketAddress.of(f"2001:db8::{number + 1:x}", 1))

    (hello,) = member.receive(peer.seal(FRAME), source=SocketAddress.of("2001:db8:0:1::1", 1))

    assert hello[24:40] == peer.salt


def test_one_source_does_not_keep_others_from_cookies():
    member = Member()
    cookies = [member.receive(member.unknown(HELLO), source=STRANGER) for _ in range(600)]
    peer = member.peer()

    (cookie,) = member.receive(peer.hello(member.salt))

    assert sum(map(len, cookies)) == 64
    assert cookie[5] == COOKIE


def test_strangers_do_not_keep_admitted_peers_from_cookies():
    member = Member()
    peer = member.peer(owner=1)
    cookies = [member.receive(member.unknown(HELLO), source=each) for each in many_sources(1500)]
    assert sum(map(len, cookies)) == 512

    assert len(member.receive(peer.hello(member.salt))) == 1

    # A host that has seen the salt is a stranger otherwise.
    assert member.receive(peer.hello(member.salt), source=STRANGER) == []
    member.side.clock.advance(10 * MS)
    assert len(member.receive(peer.hello(member.salt), source=STRANGER)) == 1
    assert len(member.receive(peer.hello(member.salt))) == 1


def test_strangers_do_not_fill_the_queue_of_the_conductor():
    # Hosts with addresses, and so right cookies.
    member = Member()
    for source in many_sources(40):
        hello = member.unknown(HELLO)
        (cookie,) = member.receive(hello, source=source)
        first = hello[:5] + bytes([FIRST]) + hello[6:40] + cookie[56:72] + os.urandom(112)
        member.receive(first, source=source)
        member.side.clock.advance(1 * MS)
    peer = member.peer(owner=1)
    (cookie,) = member.receive(peer.hello(member.salt))
    first = peer.header(FIRST, member.salt) + cookie[56:72] + bytes(112)

    member.receive(first)

    passed = []
    while (found := member.side.session.take_handshake()) is not None:
        passed.append(found[0])
    assert passed[-1] == first
    assert len(passed) == 13
