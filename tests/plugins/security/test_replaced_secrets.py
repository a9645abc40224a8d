"""Secrets that an identity replaced, or does not grant any longer: a peer that was removed from its list has them."""

import os

import pytest
from aeron_security._native.sealing import ADMIT, GREET, LAST_NS, SealedDatagrams
from identities import HELLO, IdentityPeer, public
from sealed_side import PUBLICATION, SUBSCRIPTION, THERE, Side
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe

OURS, THEIRS, OTHER = bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32
MS, S = 1_000_000, 1_000_000_000
#: That a handshake can begin with: at least 80 bytes when sealed.
FRAME = bytes(32)
STRANGER = SocketAddress.of("10.0.0.9", 1)
GROUP = SocketAddress.of("224.0.1.1", 20121)


class Member:
    """A sealed channel with an identity."""

    def __init__(self, role=SUBSCRIPTION, group=None):
        self.role = role
        self.side = Side(role=role, secrets=(os.urandom(32),), public_key=public(OURS), reply_address=group)
        self.clock, self.session, self.wire = self.side.clock, self.side.session, self.side.wire
        self.receive = self.side.receive

    def peer(self, private=THEIRS, replaces=None):
        """Return the socket of another endpoint, or that of the same one as `replaces` with its next secret."""
        made = IdentityPeer(private, 1 - self.role, 1, [public(OURS)])
        made.line = os.urandom(8) if replaces is None else replaces.line
        made.generation = 0 if replaces is None else replaces.generation + 1
        return made

    def grant(self, peer, owner=1, began_ns=LAST_NS):
        line = int.from_bytes(peer.line, "little")
        assert self.session.order(
            ADMIT, owner, public(peer.private), peer.prk, 0, line, peer.generation, began_ns
        )
        self.side.probe.receive()

    def hellos(self):
        """Return the salts of the hellos since the last call."""
        sent = self.wire.datagrams()
        self.wire.sent.clear()
        return [each[24:40] for each in sent if each[5] == HELLO]


@pytest.fixture(params=[PUBLICATION, SUBSCRIPTION])
def member(request):
    return Member(request.param)


def renewed(member, rotations=0):
    """Return a peer, and the same with the secret that replaces its own; a removed peer has rotated the old one."""
    old = member.peer()
    new = member.peer(replaces=old)
    member.grant(old)
    assert member.receive(old.seal(FRAME)) == [FRAME]
    for _ in range(rotations):
        old.rotate()
        assert member.receive(old.seal(FRAME)) == [FRAME]
    member.grant(new)
    return old, new


@pytest.mark.parametrize("rotations", [0, 1, 2, 9])
def test_a_secret_is_forgotten_with_the_first_datagram_of_the_one_that_replaces_it(member, rotations):
    old, new = renewed(member, rotations)
    assert member.receive(old.seal(FRAME)) == [FRAME]

    assert member.receive(new.seal(FRAME)) == [FRAME]

    assert member.receive(old.seal(FRAME)) == []
    old.rotate()
    assert member.receive(old.seal(FRAME), new.seal(FRAME)) == [FRAME]


def test_a_secret_is_forgotten_if_the_one_that_replaces_it_is_not_used_within_ten_seconds(member):
    old, new = renewed(member)
    member.clock.advance(9990 * MS)
    assert member.receive(old.seal(FRAME)) == [FRAME]

    member.clock.advance(20 * MS)

    assert member.receive(old.seal(FRAME)) == []
    assert member.receive(new.seal(FRAME)) == [FRAME]


def test_of_two_secrets_that_replace_one_the_later_one_stays(member):
    old, unused = renewed(member)
    new = member.peer(replaces=unused)
    member.grant(new)

    assert member.receive(new.seal(FRAME)) == [FRAME]

    assert member.receive(unused.seal(FRAME), old.seal(FRAME)) == []
    member.clock.advance(11 * S)
    assert member.receive(new.seal(FRAME)) == [FRAME]


def test_other_sockets_of_the_identity_and_those_of_others_keep_their_secrets(member):
    second, another = member.peer(), member.peer(OTHER)
    member.grant(second)
    member.grant(another, owner=2)
    _, new = renewed(member)

    assert member.receive(new.seal(FRAME)) == [FRAME]

    assert member.receive(second.seal(FRAME), another.seal(FRAME)) == [FRAME] * 2


def test_an_identity_cannot_replace_the_secret_of_another_one(member):
    genuine = member.peer()
    hostile = member.peer(OTHER, replaces=genuine)
    member.grant(genuine)
    member.receive(genuine.seal(FRAME))
    member.grant(hostile, owner=2)

    assert member.receive(hostile.seal(FRAME)) == [FRAME]

    member.clock.advance(11 * S)
    assert member.receive(genuine.seal(FRAME)) == [FRAME]


def test_a_secret_is_replaced_by_one_of_any_later_generation(member):
    old = member.peer()
    new = member.peer(replaces=old)
    new.generation += 7
    member.grant(old)
    assert member.receive(old.seal(FRAME)) == [FRAME]
    member.clock.advance(50 * S)
    # None of the handshakes between has arrived, as in a partition.
    member.grant(new)

    assert member.receive(new.seal(FRAME), old.seal(FRAME)) == [FRAME]


def test_an_owner_whose_machine_was_set_back_is_received_and_can_replace_its_secret(member):
    old, new = renewed(member)
    assert member.receive(new.seal(FRAME)) == [FRAME]
    member.clock.advance(1 * S)
    member.grant(old, began_ns=member.clock.nano_time())
    assert member.receive(old.seal(FRAME)) == [FRAME]
    member.clock.advance(11 * S)
    assert member.receive(old.seal(FRAME), new.seal(FRAME)) == [FRAME] * 2
    latest = member.peer(replaces=new)

    member.grant(latest)

    assert member.receive(latest.seal(FRAME), old.seal(FRAME), new.seal(FRAME)) == [FRAME]


def test_a_secret_is_confirmed_each_minute_by_a_handshake(member):
    peer = member.peer()
    member.grant(peer)
    for _ in range(6):
        member.clock.advance(5 * S)
        assert member.receive(peer.seal(FRAME)) == [FRAME]
    assert member.hellos() == []
    for _ in range(6):
        member.clock.advance(5 * S)
        assert member.receive(peer.seal(FRAME)) == [FRAME]
    member.hellos()

    for _ in range(20):
        member.clock.advance(50 * MS)
        assert member.receive(peer.seal(FRAME)) == [FRAME]

    # Each 100 ms, until the peer has granted it.
    assert member.hellos() == [peer.salt] * 10
    member.grant(peer)
    member.clock.advance(29 * S)
    assert member.receive(peer.seal(FRAME)) == [FRAME]
    assert member.hellos() == []


def test_secrets_that_were_granted_together_are_not_confirmed_together(member):
    peers = [member.peer() for _ in range(60)]
    for peer in peers:
        member.grant(peer)
    asked = []
    for _ in range(30):
        member.clock.advance(2 * S)
        for peer in peers:
            member.receive(peer.seal(FRAME))
        hellos = member.hellos()
        asked.append(len(hellos))
        for peer in peers:
            if peer.salt in hellos:
                member.grant(peer)

    assert sum(asked) >= 60
    assert max(asked) < 20


def test_a_secret_whose_owner_cannot_be_reached_stays(member):
    peer = member.peer()
    member.grant(peer)
    for _ in range(60):
        member.clock.advance(5 * S)
        assert member.receive(peer.seal(FRAME)) == [FRAME]


def test_a_secret_that_is_not_confirmed_though_its_owner_can_be_reached_is_forgotten(member):
    peer, other = member.peer(), member.peer()
    member.grant(peer)
    for _ in range(18):
        member.clock.advance(5 * S)
        assert member.receive(peer.seal(FRAME)) == [FRAME]
    member.grant(other)
    member.hellos()

    assert member.receive(peer.seal(FRAME)) == []
    # As that of a stranger, whose owner may grant it in a handshake.
    assert member.hellos() == [peer.salt]
    peer.rotate()
    assert member.receive(peer.seal(FRAME)) == []


@pytest.mark.parametrize("is_rotated", [False, True])
def test_a_grant_that_is_late_does_not_bring_back_what_was_forgotten(member, is_rotated):
    old = member.peer()
    new = member.peer(replaces=old)
    member.grant(old)
    began_ns = member.clock.nano_time()
    member.clock.advance(1 * S)
    member.grant(new)
    recorded = [old.seal(FRAME) for _ in range(3)]
    assert member.receive(*recorded) == [FRAME] * 3
    assert member.receive(new.seal(FRAME)) == [FRAME]

    if is_rotated:
        old.rotate()
    member.grant(old, began_ns=began_ns)

    assert member.receive(*recorded, old.seal(FRAME)) == []
    # A new handshake admits what its owner grants now.
    member.grant(old, began_ns=member.clock.nano_time())
    assert member.receive(old.seal(FRAME)) == [FRAME]


def test_an_earlier_replacement_that_is_granted_late_does_not_replace_a_later_one(member):
    old = member.peer()
    earlier = member.peer(replaces=old)
    later = member.peer(replaces=earlier)
    member.grant(old)
    began_ns = member.clock.nano_time() - 1
    member.grant(later)

    member.grant(earlier, began_ns=began_ns)

    assert member.receive(later.seal(FRAME)) == [FRAME]
    member.clock.advance(11 * S)
    assert member.receive(later.seal(FRAME), earlier.seal(FRAME)) == [FRAME]


def test_sockets_of_an_identity_replace_their_secrets_at_the_same_time(member):
    old = [member.peer() for _ in range(3)]
    new = [member.peer(replaces=each) for each in old]
    for each in old:
        member.grant(each)
    began_ns = member.clock.nano_time()
    for after in new:
        member.clock.advance(1 * MS)
        member.grant(after, began_ns=began_ns)
        # The last one is forgotten before the next one is granted.
        assert member.receive(after.seal(FRAME)) == [FRAME]

    assert member.receive(*(each.seal(FRAME) for each in new)) == [FRAME] * 3
    assert member.receive(*(each.seal(FRAME) for each in old)) == []


def test_a_late_grant_does_not_bring_back_what_was_forgotten_for_another_one(member):
    peer = member.peer()
    member.grant(peer)
    began_ns = member.clock.nano_time()
    recorded = [peer.seal(FRAME) for _ in range(3)]
    assert member.receive(*recorded) == [FRAME] * 3
    member.clock.advance(1 * S)
    for _ in range(4096):
        member.grant(member.peer())
    assert member.receive(peer.seal(FRAME)) == []

    peer.number = 0
    member.grant(peer, began_ns=began_ns)

    assert member.receive(*recorded) == []


def test_a_late_grant_does_not_admit_what_was_sent_before_a_socket_was_opened():
    member = Member()
    peer, began_ns = member.peer(), member.clock.nano_time()
    member.grant(peer)
    recorded = [peer.seal(FRAME) for _ in range(3)]
    assert member.receive(*recorded) == [FRAME] * 3
    member.clock.advance(1 * S)
    opened = Wire()
    probe = DatagramProbe(SealedDatagrams(PythonDatagramChannel(opened), member.session))
    assert probe.receive() == []

    assert member.session.order(ADMIT, 1, public(THEIRS), peer.prk, 0, began_ns=began_ns)

    opened.waiting = [(datagram, THERE) for datagram in recorded]
    assert probe.receive() == []
    # The socket starts a handshake of its own.
    assert [datagram[5] for datagram in opened.datagrams()] == [HELLO]
    assert member.receive(peer.seal(FRAME)) == [FRAME]


def test_a_secret_is_replaced_though_nothing_has_arrived_since_its_rotation(member):
    old = member.peer()
    new = member.peer(replaces=old)
    member.grant(old)
    assert member.receive(old.seal(FRAME)) == [FRAME]
    rotated = member.peer()
    rotated.prk = old.prk
    rotated.rotate()
    member.grant(new)

    assert member.receive(new.seal(FRAME)) == [FRAME]

    assert member.receive(old.seal(FRAME), rotated.seal(FRAME)) == []


def test_a_late_grant_of_a_secret_that_was_rotated_confirms_those_that_follow_it(member):
    peer = member.peer()
    member.grant(peer)
    for _ in range(20):
        late = member.peer()
        late.prk, late.line = peer.prk, peer.line
        for _ in range(2):
            member.clock.advance(5 * S)
            peer.rotate()
            assert member.receive(peer.seal(FRAME)) == [FRAME]
        member.grant(late)

    assert member.receive(late.seal(FRAME)) == []


def test_strangers_do_not_keep_admitted_peers_from_handshakes(member):
    peer = member.peer()
    member.grant(peer)
    member.receive(peer.seal(FRAME))
    assert member.session.order(GREET, 0, public(OURS), bytes(32), 0)

    strangers = [b"AeSU\1\0" + bytes([1 - member.role, 0]) + os.urandom(72) for _ in range(300)]
    for number, datagram in enumerate(strangers):
        member.receive(datagram, source=SocketAddress.of(f"10.1.{number // 250}.{number % 250}", 1))
    assert len(member.hellos()) == 128
    member.receive(peer.seal(FRAME))

    assert member.hellos() == [peer.salt]


@pytest.mark.parametrize("group", [None, GROUP])
def test_one_source_does_not_keep_new_peers_from_a_channel(group):
    member = Member(group=group)
    peer, greeted = member.peer(), 0
    for millisecond in range(2000):
        member.clock.advance(1 * MS)
        for _ in range(2):
            member.receive(b"AeSU\1\0\0\0" + os.urandom(72), source=STRANGER)
        if millisecond % 100 == 55:
            # Of a group, the least that it can receive: one SETUP frame in 100 ms.
            member.hellos()
            member.receive(peer.seal(FRAME))
            greeted += peer.salt in member.hellos()

    assert greeted == 20


@pytest.mark.parametrize("stranger", [STRANGER, THERE.with_port(3)])
def test_a_stranger_that_has_seen_a_salt_does_not_keep_its_owner_from_a_handshake(stranger):
    member = Member()
    peer, asked = member.peer(), 0
    for _ in range(20):
        member.clock.advance(100 * MS)
        member.receive(b"AeSU\1\0\0\0" + peer.salt + os.urandom(56), source=stranger)
        member.wire.sent.clear()
        member.receive(peer.seal(FRAME))
        asked += [destination for _, destination in member.wire.sent] == [THERE]

    assert asked == 20
