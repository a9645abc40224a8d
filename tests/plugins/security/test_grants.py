"""Which peers have a secret: a removal from the list waits for those that may still be there, and for no others."""

import pytest
from aeron_security.grants import MAX_AGE_NS, MAX_SOCKETS, Grants
from aeron_security.identities import DELIVERY_NS, IdentityProtector
from aeron_security.peer_lists import CHECK_INTERVAL_NS
from hosts import DYNAMIC, PRIVATE, Load, value
from identities import IdentityPeer, public
from wire import Wire

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import PythonDatagramChannel
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing import DatagramProbe
from aeron_core.testing.pair import MS, S

PEER, OTHER = b"peer", b"other"
HERE, THERE = ("10.0.0.2", 1), ("10.0.0.3", 1)


def grants_of(*given):
    grants = Grants()
    for identity, salt, address in given:
        grants.add(identity, salt, address, 0)
    return grants


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The same socket, one that has rotated or restarted, one with two addresses, and those of a group.
        ([(PEER, b"1", HERE)], [(PEER, b"1", HERE)]),
        ([(PEER, b"1", HERE)], [(PEER, b"2", HERE)]),
        ([(PEER, b"1", HERE), (PEER, b"2", HERE)], [(PEER, b"2", HERE)]),
        ([(PEER, b"1", HERE), (PEER, b"1", THERE)], [(PEER, b"1", THERE)]),
        ([(PEER, b"1", None), (PEER, b"2", None)], [(PEER, b"1", None), (PEER, b"2", None)]),
    ],
)
def test_a_secret_is_delivered_when_all_sockets_have_it(before, after):
    grants = grants_of(*before)

    grants.replace(0)
    for identity, salt, address in after:
        assert not grants.is_delivered
        grants.add(identity, salt, address, 0)

    assert grants.is_delivered


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((PEER, b"1", HERE), (PEER, b"2", THERE)),
        ((PEER, b"1", HERE), (OTHER, b"1", HERE)),
        ((PEER, b"1", None), (PEER, b"2", None)),
    ],
)
def test_another_socket_does_not_count(before, after):
    grants = grants_of(before)

    grants.replace(0)
    grants.add(*after, 0)

    assert not grants.is_delivered
    grants.await_only([OTHER])
    assert grants.is_delivered


def test_a_second_removal_awaits_those_that_the_first_one_awaited():
    grants = grants_of((PEER, b"1", HERE), (OTHER, b"2", THERE))
    grants.replace(0)
    grants.add(OTHER, b"2", THERE, 0)

    grants.replace(0)

    grants.add(OTHER, b"2", THERE, 0)
    assert not grants.is_delivered
    grants.add(PEER, b"1", HERE, 0)
    assert grants.is_delivered


def test_a_socket_without_a_handshake_is_not_awaited_but_its_identity_has_the_secret():
    grants = grants_of((PEER, b"1", HERE))
    grants.add(OTHER, b"2", THERE, MAX_AGE_NS + 1)

    assert grants.has_any([PEER])
    grants.replace(MAX_AGE_NS + 1)

    assert not grants.has_any([PEER, OTHER])
    assert not grants.is_delivered
    grants.add(OTHER, b"2", THERE, MAX_AGE_NS + 1)
    assert grants.is_delivered


def test_of_the_sockets_of_an_identity_the_last_ones_are_remembered():
    grants = grants_of(*((PEER, bytes([number]), None) for number in range(2 * MAX_SOCKETS)))

    grants.replace(0)

    for number in range(MAX_SOCKETS, 2 * MAX_SOCKETS):
        assert not grants.is_delivered
        grants.add(PEER, bytes([number]), None, 0)
    assert grants.is_delivered


@pytest.fixture
def sending(monkeypatch):
    """Return a list of the protectors of publications."""
    protectors = []

    def made(self, params):
        make(self, params)
        if params.role is ProtectedRole.PUBLICATION:
            protectors.append(self)

    make = IdentityProtector.__init__
    monkeypatch.setattr(IdentityProtector, "__init__", made)
    return protectors


@pytest.mark.parametrize("change", ["rotates", "restarts", "ends"])
def test_a_removal_does_not_wait_for_salts_that_are_not_used_any_longer(
    start_pair, identities, sending, change
):
    if change == "rotates":
        identities.options["rotation_interval"] = "1s"
    pair = start_pair()
    three = pair.add_driver("10.0.0.3").connect()
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc=max", 1001)
    channel = f"aeron:udp?endpoint=10.0.0.2:20001|{DYNAMIC}"
    stays = pair.add_subscription(channel, 1001)
    leaves = pair.result(three.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001))
    pair.run_until(lambda: stays.is_connected and leaves.is_connected)
    pair.run_for(3 * S)
    if change == "restarts":
        stays.close()
        pair.run_for(3 * S)
        stays = pair.add_subscription(channel, 1001)
        pair.run_until(lambda: stays.is_connected)
    elif change == "ends":
        other = pair.add_subscription(channel.replace("20001", "20002"), 1001)
        pair.run_until(lambda: other.is_connected)
        other.close()
        for _ in range(100):
            pair.run_for(1 * S)
    load = Load(publication, stays)
    load.arrived = load.offered
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(300 * MS, each=load.step)

    identities.allow("one", "two")
    (protector,) = sending
    pair.run_until(
        lambda: load.step() and protector._renew_at_ns is not None, within_ns=CHECK_INTERVAL_NS + 20 * MS
    )
    began_ns = pair.clock.nano_time()
    pair.run_until(lambda: load.step() and protector._renew_at_ns is None)

    # A receiver sends a status message each 200 ms at least.
    assert pair.clock.nano_time() - began_ns < DELIVERY_NS - 50 * MS
    pair.run_for(1200 * MS, each=load.step)
    assert value(pair.sender, "rekeys") == 1


def test_a_peer_that_has_been_silent_for_long_is_locked_out_when_it_is_removed(
    start_pair, identities, sending
):
    pair = start_pair()
    three = pair.add_driver("10.0.0.3").connect()
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc=max", 1001)
    leaves = pair.result(three.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001))
    pair.run_until(lambda: publication.is_connected)
    leaves.close()
    for _ in range(100):
        pair.run_for(1 * S)
    (protector,) = sending
    secret, *_ = protector._session.grant()

    identities.allow("one", "two")
    pair.run_for(1 * S)

    assert value(pair.sender, "rekeys") == 1
    assert protector._session.grant()[0] != secret


class Publication:
    """A protector and a wire; its peers take part in handshakes."""

    def __init__(self, options):
        self.clock, self.wire = Clock.manual(), Wire()
        params = ProtectorParams(
            profile="orders", options=options, role=ProtectedRole.PUBLICATION, clock=self.clock
        )
        self.protector = IdentityProtector(params)
        self._probe = DatagramProbe(self.protector.protect(PythonDatagramChannel(self.wire)))

    def work(self, after_ns=0):
        self.clock.advance(after_ns)
        self.protector.do_work(self.clock.nano_time())
        self._probe.receive()
        return self.protector._session.salt

    def grant(self, peer, source):
        datagram = peer.hello(self.work())
        while datagram is not None:
            self.wire.waiting.append((datagram, source))
            self.wire.sent.clear()
            self._probe.receive()
            self.work()
            answers = self.wire.datagrams()
            datagram = peer.on_datagram(answers[0], str(source).encode()) if answers else None


def test_a_secret_is_used_when_those_that_were_granted_it_had_time_to_admit_it(identities):
    options = identities.profiles("one", "two", "three")["orders"]
    del options["protector"]
    publication = Publication(options)
    peers = [IdentityPeer(PRIVATE[name], 1, 1, [public(PRIVATE["one"])]) for name in ("two", "three")]
    for number, peer in enumerate(peers, 2):
        publication.grant(peer, SocketAddress.of(f"10.0.0.{number}", 1))
    old = publication.work()
    assert all(old in peer.granted for peer in peers)

    identities.allow("one", "two")
    assert publication.work(260 * MS) == old
    publication.grant(peers[0], SocketAddress.of("10.0.0.2", 1))

    # The third is on its way, and waits for the conductor of the peer.
    assert publication.work(10 * MS) == old
    publication.work(50 * MS)
    assert publication.work() in peers[0].granted
    assert publication.work() != old
