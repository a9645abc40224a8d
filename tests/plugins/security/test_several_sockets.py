"""Orders of the conductor, and handshakes, at several sockets of one session with an identity."""

import gc
import os

import pytest
from aeron_security._native.sealing import ADMIT, FORGET, SealedDatagrams, SealingSession
from aeron_security.handshakes import COOKIE, FIRST, SECOND, THIRD, Grant, Handshakes, Host
from aeron_security.identity_files import AllowedPeer
from aeron_security.noise import public_key_of
from hosts import Load, flow, messages_of, value
from identities import IdentityPeer, public
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.testing import DatagramProbe
from aeron_core.testing.pair import MS, S

OURS, THEIRS = bytes([1]) * 32, bytes([2]) * 32
PUBLICATION, SUBSCRIPTION = 0, 1
THERE = SocketAddress.of("127.0.0.1", 2)


def resident_length():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Socket:
    """A socket of `session`."""

    def __init__(self, session):
        self.wire = Wire()
        self._channel = SealedDatagrams(PythonDatagramChannel(self.wire), session)
        self._probe = DatagramProbe(self._channel)

    def receive(self, *datagrams):
        self.wire.waiting += [(datagram, THERE) for datagram in datagrams]
        return [content for slot in self._probe.receive() for content in slot.datagrams if content]

    def close(self):
        self._channel.close()


class Subscription:
    """The session of a subscription, and a publication that its conductor admits."""

    def __init__(self):
        self.clock = Clock.manual()
        self.session = SealingSession(
            [os.urandom(32)], 1, SUBSCRIPTION, PUBLICATION, self.clock, public_key=public(OURS)
        )
        self.peer = IdentityPeer(THEIRS, PUBLICATION, 1, [public(OURS)])
        self.sockets = [Socket(self.session), Socket(self.session)]
        for each in self.sockets:
            each.receive()

    def admit(self, number=0):
        assert self.session.order(ADMIT, 1, public(THEIRS), self.peer.prk, number)

    def forget(self):
        assert self.session.order(FORGET, 1, public(THEIRS), bytes(32), 0)

    def stay_silent_but_for(self, datagrams, prk):
        """Receive a datagram each 7 s, of a secret that is confirmed; then another peer is admitted."""
        for datagram in datagrams:
            self.clock.advance(7 * S)
            assert self.session.order(ADMIT, 1, public(THEIRS), prk, 0)
            assert all(self.receive(datagram))
        other = bytes([3]) * 32
        assert self.session.order(ADMIT, 2, public(other), other, 0)
        for each in self.sockets:
            each.receive()

    def receive(self, datagram):
        """Return what each socket receives."""
        return [each.receive(datagram) for each in self.sockets]


@pytest.fixture
def made():
    return Subscription()


@pytest.mark.parametrize("obeying", [0, 1])
def test_a_grant_and_a_removal_reach_all_sockets_by_the_call_of_any(made, obeying):
    made.admit()
    made.sockets[obeying].receive()
    assert made.receive(made.peer.seal(b"granted")) == [[b"granted"]] * 2

    made.forget()
    made.sockets[obeying].receive()

    assert made.receive(made.peer.seal(b"removed")) == [[], []]
    assert made.session.counts()["unproved"] == 2


def test_each_socket_receives_a_datagram_once_and_nothing_from_before_the_grant(made):
    before = made.peer.seal(b"before")
    made.admit(number=1)
    behind = made.peer.seal(b"behind")

    assert made.receive(before) == [[], []]
    assert made.receive(behind) == [[b"behind"]] * 2
    assert made.receive(behind) == [[], []]


def test_a_grant_that_is_repeated_for_another_socket_leaves_windows_as_they_are(made):
    made.admit()
    datagram = made.peer.seal(b"once")
    assert made.receive(datagram) == [[b"once"]] * 2

    made.admit()

    assert made.receive(datagram) == [[], []]


def test_a_socket_that_is_added_later_starts_a_handshake_and_is_granted_the_secret_too(made):
    made.admit()
    made.receive(made.peer.seal(bytes(32)))
    made.sockets.append(Socket(made.session))
    datagram = made.peer.seal(bytes(32))
    assert made.receive(datagram) == [[bytes(32)], [bytes(32)], []]
    (hello,) = made.sockets[2].wire.datagrams()
    assert hello[24:40] == made.peer.salt

    made.admit(made.peer.number)

    assert made.receive(datagram) == [[], [], []]
    assert made.receive(made.peer.seal(b"next")) == [[b"next"]] * 3


def test_an_identity_that_grants_ever_new_secrets_makes_the_socket_forget_its_own_only(made):
    made.admit()
    made.receive(made.peer.seal(b"silent from here on"))
    hostile = bytes([3]) * 32
    last = IdentityPeer(hostile, PUBLICATION, 1, [])

    # 4096 salts are admitted; half of the minute after which silent ones are forgotten passes.
    for number in range(5000):
        made.clock.advance(6 * MS)
        last = IdentityPeer(hostile, PUBLICATION, 1, [], prk=number.to_bytes(32, "little"))
        assert made.session.order(ADMIT, 2, public(hostile), last.prk, 0)
        made.sockets[0].receive()

    assert made.receive(made.peer.seal(b"it returns")) == [[b"it returns"]] * 2
    assert made.receive(last.seal(b"the last one")) == [[b"the last one"]] * 2
    first = IdentityPeer(hostile, PUBLICATION, 1, [], prk=bytes(32))
    assert made.receive(first.seal(b"the first one")) == [[], []]


def test_a_number_of_an_identity_beyond_the_longest_list_is_refused(made):
    with pytest.raises(ValueError, match="the number 1025 of an identity: must be at most 1024"):
        made.session.order(ADMIT, 1025, public(THEIRS), bytes(32), 0)


def test_a_next_secret_that_was_granted_and_forgotten_is_not_admitted_by_the_one_before_it(made):
    made.admit()
    old = made.peer.prk
    first = [made.peer.seal(b"%d" % number) for number in range(20)]
    made.receive(first[0])
    made.peer.rotate()
    datagrams = [made.peer.seal(b"recorded") for _ in range(2)]
    made.admit()
    assert [made.receive(each) for each in datagrams] == [[[b"recorded"]] * 2] * 2

    # A host on the path holds back datagrams of the next secret, and lets the others pass.
    made.stay_silent_but_for(first[1:], old)

    assert made.receive(datagrams[0]) == made.receive(datagrams[1]) == [[], []]


def test_a_next_secret_that_was_granted_before_the_late_grant_of_its_predecessor_is_not_admitted_twice(made):
    old = made.peer.prk
    late = [made.peer.seal(b"late") for _ in range(20)]
    made.peer.rotate()
    recorded = made.peer.seal(b"recorded")
    made.admit()
    assert made.receive(recorded) == [[b"recorded"]] * 2
    assert made.session.order(ADMIT, 1, public(THEIRS), old, 0)

    made.stay_silent_but_for(late, old)

    assert made.receive(recorded) == [[], []]


@pytest.mark.parametrize("rotations", [2, 3, 6])
def test_a_late_grant_of_a_secret_that_was_forgotten_after_rotations_does_not_admit_it_again(made, rotations):
    # A host on the path holds back the last datagram of a handshake, while another handshake grants the same secret.
    old = made.peer.prk
    made.admit()
    recorded = made.peer.seal(b"recorded")
    assert made.receive(recorded) == [[b"recorded"]] * 2
    for _ in range(rotations):
        made.peer.rotate()
        assert made.receive(made.peer.seal(b"next")) == [[b"next"]] * 2

    assert made.session.order(ADMIT, 1, public(THEIRS), old, 0)

    assert made.receive(recorded) == [[], []]
    assert made.receive(made.peer.seal(b"last")) == [[b"last"]] * 2


def test_sockets_that_are_closed_are_freed_though_the_session_goes_on(made):
    def open_and_close(count):
        for _ in range(count):
            opened = Socket(made.session)
            opened.receive()
            opened.close()
        gc.collect()

    open_and_close(100)
    before = resident_length()
    open_and_close(1000)
    made.admit()

    assert made.receive(made.peer.seal(b"content")) == [[b"content"]] * 2
    # Each has 64 kB.
    assert resident_length() - before < 8_000_000


def handshakes_of(private, role, admitted, allowed):
    made = Handshakes(
        Host(
            private_key=private,
            public_key=public_key_of(private),
            cipher=1,
            role=role,
            grant=lambda: Grant(bytes(32), 7),
            admit=lambda peer, grant, _: admitted.append((peer.name, grant.secret, grant.number)),
            fresh=lambda: os.urandom(8),
        )
    )
    made.set_peers({allowed: AllowedPeer("peer", allowed)})
    return made


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_two_sockets_take_part_in_one_handshake_with_the_cookie_of_each_address(order):
    admitted = []
    made = handshakes_of(OURS, SUBSCRIPTION, admitted, public(THEIRS))
    peer = IdentityPeer(THEIRS, PUBLICATION, 1, [public(OURS)])
    hello = b"AeSU" + bytes([1, 3, SUBSCRIPTION, 1]) + b"s" * 16 + peer.salt + b"t" * 16 + bytes(24)
    cookies = {number: peer.on_datagram(hello, b"address %d" % number) for number in (1, 2)}
    assert cookies[1] != cookies[2]

    firsts = {number: made.on_datagram(cookies[number], "10.0.0.2", 0, number) for number in (1, 2)}

    assert {each[5] for each in firsts.values()} == {FIRST}
    assert [firsts[number][40:56] for number in (1, 2)] == [cookies[number][56:72] for number in (1, 2)]
    assert made.agreements == 2
    number = order[0]
    second = peer.on_datagram(firsts[number], b"address %d" % number)
    # A group may give the second to a socket without a cookie, too.
    assert made.on_datagram(second, "10.0.0.2", 0, 3) is None
    third = made.on_datagram(second, "10.0.0.2", 0, number)
    assert (second[5], third[5], cookies[1][5]) == (SECOND, THIRD, COOKIE)
    peer.on_datagram(third, b"address %d" % number)
    assert len(peer.granted) == len(admitted) == 1
    assert made.on_datagram(second, "10.0.0.2", 0, order[1]) is None


def start_two_paths(start_pair):
    """Return a pair, a publication with two destinations, and a subscription with two sockets."""
    pair = start_pair()
    subscription = pair.add_subscription("aeron:udp?control-mode=manual|security=orders", 1001)
    publication = pair.add_publication("aeron:udp?control-mode=manual|security=orders", 1001)
    for port in (20001, 20002):
        pair.result(subscription.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))
        pair.result(publication.add_destination_async(f"aeron:udp?endpoint=10.0.0.2:{port}"))
    return pair, publication, subscription


def test_a_stream_by_two_paths_needs_a_handshake_in_each_direction_at_most(start_pair):
    pair, publication, subscription = start_two_paths(start_pair)

    flow(pair, publication, [subscription], messages_of(300))
    # Counters are written each second.
    pair.run_for(1100 * MS)

    # Both paths are accepted: of each datagram, one copy.
    assert value(pair.receiver, "opened") > 2 * 60
    assert value(pair.receiver, "refused-replayed") == 0
    assert value(pair.receiver, "refused-handshake") == value(pair.sender, "refused-handshake") == 0
    assert value(pair.receiver, "handshakes") <= 2
    assert [driver.errors() for driver in pair.drivers] == [[], []]


def test_a_sender_that_is_revoked_is_received_at_neither_socket_of_a_subscription(start_pair, identities):
    pair, publication, subscription = start_two_paths(start_pair)
    load = Load(publication, subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(100 * MS, each=load.step)

    identities.allow("two", "three")
    pair.run_for(300 * MS, each=load.step)
    pair.run_for(1100 * MS, each=load.step)
    arrived, opened = load.arrived, value(pair.receiver, "opened")
    pair.run_for(2200 * MS, each=load.step)

    assert arrived > 0
    assert load.arrived == arrived
    assert value(pair.receiver, "opened") == opened
    assert value(pair.receiver, "rekeys") == 1

    # Allowed again, it continues by both paths.
    identities.allow("two", "one", "three")
    pair.run_until(lambda: load.step() > arrived, within_ns=20 * S)
