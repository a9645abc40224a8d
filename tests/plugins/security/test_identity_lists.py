"""Lists of peers: wrong, unknown, expired and revoked peers, and changes of a list during a stream."""

import resource

import pytest
from aeron_security.identities import IdentityProtector
from hosts import DYNAMIC, PRIVATE, SECURED, HostPair, Load, flow, messages_of, value
from identities import IdentityPeer, public
from secure_udp import ANSWER, CHALLENGE, Peer

from aeron_core._native.clock import Clock
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing import SimulatedLink, SimulatedPeer
from aeron_core.testing.pair import MS, S

IDENTITY = "its identity is not in the list of peers, or has expired"


@pytest.mark.parametrize(
    ("lists", "refusing"),
    [({"two": ("three",)}, "receiver"), ({"one": ("three",)}, "sender"), ({"two": ()}, "receiver")],
)
def test_a_peer_that_one_side_does_not_allow_gets_nothing(start_pair, lists, refusing):
    pair = start_pair(**lists)
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)

    pair.run_for(5 * S)

    assert not publication.is_connected
    assert not subscription.is_connected
    (record,) = getattr(pair, refusing).errors()
    assert IDENTITY in record.text
    assert value(getattr(pair, refusing), "refused-identity") > 5
    assert value(pair.sender, "opened") == value(pair.receiver, "opened") == 0


def test_the_event_log_of_a_sender_has_the_key_of_a_receiver_that_it_does_not_allow(identities, tmp_path):
    profiles = {"one": identities.profiles("one", "three"), "two": identities.profiles("two", "one")}
    with HostPair(tmp_path, profiles, event_log="all") as pair:
        pair.add_subscription(SECURED, 1001)
        pair.add_publication(SECURED, 1001)
        pair.run_for(2 * S)
        (record,) = pair.sender.errors()

    key = public(PRIVATE["two"]).hex()
    lines = [
        line
        for line in (tmp_path / "one.events").read_text(encoding="utf-8").splitlines()
        if IDENTITY in line
    ]
    assert 1 <= len(lines) < 50
    assert all(f"public key {key}" in line for line in lines)
    # The error log never removes a text, so it must have none that a peer chooses.
    assert key not in record.text


def test_a_peer_that_is_added_to_a_list_is_admitted(start_pair, identities):
    pair = start_pair(two=("three",))
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    pair.run_for(2 * S)

    identities.allow("two", "one")

    flow(pair, publication, [subscription], messages_of(20))

    assert publication.is_connected


def start_group(start_pair, link=None, flow_control="min"):
    pair = start_pair(link=link)
    three = pair.add_driver("10.0.0.3").connect()
    publication = pair.add_publication(f"aeron:udp?{DYNAMIC}|fc={flow_control}", 1001)
    stays = pair.add_subscription(f"aeron:udp?endpoint=10.0.0.2:20001|{DYNAMIC}", 1001)
    leaves = pair.result(three.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001))
    pair.run_until(lambda: publication.is_connected and stays.is_connected and leaves.is_connected)
    return pair, publication, stays, leaves


@pytest.mark.parametrize("is_reached", [True, False])
def test_a_receiver_that_is_revoked_forges_nothing_at_the_others(
    start_pair, identities, monkeypatch, is_reached
):
    protectors = []

    def made(self, params):
        protectors.append((params.role, self))
        make(self, params)

    make = IdentityProtector.__init__
    monkeypatch.setattr(IdentityProtector, "__init__", made)
    pair, publication, stays, _ = start_group(start_pair, flow_control="max")
    load = Load(publication, stays)
    (sending,) = [each for role, each in protectors if role is ProtectedRole.PUBLICATION]
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(300 * MS, each=load.step)
    # The secret that the receiver was given, with which it seals what it has not received from the sender.
    prk, *_ = sending._session.grant()
    forger = IdentityPeer(PRIVATE["one"], 0, 1, [], prk=prk)
    forger.number = 1 << 20
    attacker = SimulatedPeer(pair.network, "10.0.0.3", 40000, ("10.0.0.2", 20001))
    identities.allow("one", "two")
    identities.allow("two", "one")
    if not is_reached:
        # The next secret is granted while the other receiver cannot be reached, and used before it can be.
        pair.network.partition("10.0.0.1", "10.0.0.2")
        pair.run_for(700 * MS, each=load.step)
        pair.network.heal("10.0.0.1", "10.0.0.2")
    pair.run_for(1 * S, each=load.step)

    unproved = value(pair.receiver, "refused-unproved")
    for _ in range(50):
        attacker.send(forger.seal(bytes(32)))
        load.step()
        pair.run_for(100 * MS)
    forger.rotate()
    attacker.send(forger.seal(bytes(32)))
    pair.run_for(100 * MS, each=load.step)
    pair.run_for(100 * MS, each=lambda: stays.poll(load._take, 50))

    assert value(pair.sender, "rekeys") == 1
    # The counter is set each 100 ms.
    assert 45 <= value(pair.receiver, "refused-unproved") - unproved <= 51
    assert load.arrived == load.offered > 50


def test_streams_go_on_while_handshakes_confirm_their_secrets(start_pair):
    pair = start_pair(link=SimulatedLink(loss=0.02))
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    load = Load(publication, subscription)
    pair.run_for(1 * S)
    handshakes, unproved = value(pair.receiver, "handshakes"), value(pair.receiver, "refused-unproved")

    # 90 s after its last grant, a secret is forgotten.
    for _ in range(100):
        load.step()
        pair.run_for(1 * S)
    pair.run_until(lambda: load.step() == load.offered)

    assert handshakes + 1 <= value(pair.receiver, "handshakes") <= handshakes + 8
    assert value(pair.receiver, "refused-unproved") == unproved


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_receiver_that_is_revoked_during_a_stream_is_locked_out_and_the_other_loses_nothing(
    start_pair, identities, loss
):
    pair, publication, stays, leaves = start_group(start_pair, SimulatedLink(loss=loss))
    load, last = Load(publication, stays), []

    def step():
        load.step()
        leaves.poll(lambda buffer, _: last.append(int.from_bytes(buffer, "little")))

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(500 * MS, each=step)
    assert last[-1] > 100
    identities.allow("one", "two")
    # The list is read each 250 ms; within 300 ms more, the other receiver has got the new key.
    pair.run_for(560 * MS, each=step)
    end = load.offered
    pair.network.log.clear()
    pair.run_for(2 * S, each=step)
    pair.run_until(lambda: load.step() >= end + 1000, within_ns=10 * S)
    pair.run_for(1200 * MS, each=step)

    assert max(last) <= end
    assert value(pair.sender, "rekeys") == 1
    assert pair.receiver.errors() == []


def test_a_revocation_of_one_receiver_does_not_delay_the_stream_to_the_other(start_pair, identities):
    # Without `fc=min`, for which the one that leaves limits the stream until its timeout.
    pair, publication, stays, leaves = start_group(start_pair, flow_control="max")
    load, delays = Load(publication, stays), []

    def step():
        before = load.offered
        load.step()
        leaves.poll(lambda *_: None)
        delays.append(before - load.arrived)

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(500 * MS, each=step)
    refused = value(pair.receiver, "refused-unproved")
    usual = max(delays)
    identities.allow("one", "two")
    delays.clear()
    pair.run_for(1200 * MS, each=step)

    assert value(pair.sender, "rekeys") == 1
    assert load.arrived > 1500
    assert max(delays) <= usual
    # Each datagram could be opened when it arrived.
    assert value(pair.receiver, "refused-unproved") == refused


def test_a_second_revocation_soon_after_the_first_one_locks_both_receivers_out(start_pair, identities):
    pair, publication, stays, leaves = start_group(start_pair)
    load, last = Load(publication, stays), []

    def step():
        load.step()
        leaves.poll(lambda buffer, _: last.append(int.from_bytes(buffer, "little")))

    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    identities.allow("one", "two")
    pair.run_for(260 * MS, each=step)
    identities.allow("one")
    # 250 ms until the list is read, 300 ms in which the new key is granted, and 300 ms for that of the second one.
    pair.run_for(860 * MS, each=step)
    end = load.offered
    pair.run_for(2 * S, each=step)

    assert max(last) <= end
    assert load.arrived <= end
    assert value(pair.sender, "rekeys") >= 1


def test_a_sender_that_is_revoked_during_a_stream_is_not_received(start_pair, identities):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    load = Load(publication, subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS
    pair.run_for(100 * MS, each=load.step)

    identities.allow("two", "three")
    pair.run_for(300 * MS, each=load.step)
    arrived = load.arrived
    pair.run_for(2 * S, each=load.step)

    assert arrived > 0
    assert load.arrived == arrived
    assert value(pair.receiver, "rekeys") == 1
    assert any(IDENTITY in record.text for record in pair.receiver.errors())

    # Allowed again, it continues.
    identities.allow("two", "one", "three")
    pair.run_until(lambda: load.step() > arrived, within_ns=20 * S)


def test_an_entry_that_expires_is_a_revocation(start_pair, identities):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    identities.allow("two", "one", until_ms=pair.clock.epoch_ms() + 2000)
    load = Load(publication, subscription)
    pair.run_until(lambda: publication.is_connected and subscription.is_connected)
    pair.busy_step_ns = pair.idle_step_ns = 1 * MS

    pair.run_for(1500 * MS, each=load.step)
    before = load.arrived
    pair.run_for(800 * MS, each=load.step)
    after = load.arrived
    pair.run_for(2 * S, each=load.step)

    assert 0 < before < after == load.arrived
    assert value(pair.receiver, "rekeys") == 1


def test_a_list_that_cannot_be_read_is_reported_and_stays_as_it_was(start_pair, identities, tmp_path):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    publication = pair.add_publication(SECURED, 1001)
    flow(pair, publication, [subscription], messages_of(20))

    (tmp_path / "two.peers").write_text("one 1234\n", encoding="ascii")
    pair.run_for(2 * S)

    flow(pair, publication, [subscription], messages_of(20))
    (record,) = pair.receiver.errors()
    assert "kept the list of peers as it was: list of peers" in record.text
    assert "line 1: public key '1234': must be 64 hexadecimal digits" in record.text
    assert record.observation_count == 1


def test_a_list_that_could_not_be_read_for_a_moment_is_read_again(identities):
    clock = Clock.manual()
    protector = protector_of(identities, clock)

    identities.allow("two", "three")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # All descriptors are in use.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        for _ in range(3):
            clock.advance(S)
            protector.do_work(clock.nano_time())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert protector._peers.keys() == {public(PRIVATE["one"])}
    assert "Too many open files" in protector.take_fault().reason
    assert protector.take_fault() is None

    clock.advance(S)
    protector.do_work(clock.nano_time())
    assert protector._peers.keys() == {public(PRIVATE["three"])}


def test_a_driver_that_restarts_with_its_identity_is_admitted_again(start_pair):
    pair = start_pair()
    publication = pair.add_publication(SECURED, 1001)
    salts = set()
    for _ in range(3):
        subscription = pair.add_subscription(SECURED, 1001)
        flow(pair, publication, [subscription], messages_of(20))
        salts |= {line.data[8:24] for line in pair.network.log if line.source.startswith("10.0.0.2")}
        subscription.close()
        pair.run_until(lambda: not publication.is_connected)
        pair.run_for(S)

    assert len(salts) == 3
    assert pair.sender.errors() == pair.receiver.errors() == []


def test_peers_need_the_same_cipher(start_pair, identities):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    identities.options["cipher"] = "aes-256-gcm"
    other = (
        type(pair)
        .__mro__[1]
        .add_driver(pair, "10.0.0.3", security_profiles=identities.profiles("three", "two"))
    )
    publication = pair.result(other.connect().add_publication_async(SECURED, 1001))

    pair.run_for(5 * S)

    assert not publication.is_connected
    assert not subscription.is_connected
    (record,) = other.errors()
    assert "its seal is wrong: use the same cipher for all members" in record.text


@pytest.mark.parametrize("is_sender", [True, False])
def test_a_member_with_a_group_secret_is_not_accepted(start_pair, profiles, is_sender):
    pair = start_pair()
    subscription = pair.add_subscription(SECURED, 1001)
    other = type(pair).__mro__[1].add_driver(pair, "10.0.0.3", security_profiles=profiles)
    client = other.connect()
    if is_sender:
        stream = pair.result(client.add_publication_async(SECURED, 1001))
    else:
        publication = pair.add_publication(f"aeron:udp?{DYNAMIC}", 1001)
        stream = pair.result(
            client.add_subscription_async(f"aeron:udp?endpoint=10.0.0.3:20001|{DYNAMIC}", 1001)
        )

    pair.run_for(5 * S)

    assert not stream.is_connected
    assert not subscription.is_connected
    assert is_sender or not publication.is_connected
    (record,) = other.errors()
    assert "use the same secret file, and the same protector, for all members" in record.text


def test_a_challenge_of_a_group_secret_is_refused(start_pair):
    pair = start_pair()
    pair.add_subscription(SECURED, 1001)
    stranger = SimulatedPeer(pair.network, "10.0.0.9", 40000, ("10.0.0.2", 20121))

    stranger.send(*(Peer(bytes(32), 1, 0).seal(bytes(40), kind) for kind in (CHALLENGE, ANSWER)))
    pair.run_for(2 * S)

    assert value(pair.receiver, "refused-secret") == 2
    (record,) = pair.receiver.errors()
    assert "it is sealed with a group secret: use protector=identities for all members" in record.text


def protector_of(identities, clock):
    """Return the protector of a subscription of "two", which allows "one"."""
    options = {
        name: text
        for name, text in identities.profiles("two", "one")["orders"].items()
        if name != "protector"
    }
    role = ProtectedRole.SUBSCRIPTION
    return IdentityProtector(ProtectorParams(profile="orders", options=options, role=role, clock=clock))


def test_a_handshake_that_does_not_end_is_forgotten_with_its_keys(identities):
    clock = Clock.manual()
    protector = protector_of(identities, clock)
    pending = protector._handshakes._pending
    peer = IdentityPeer(PRIVATE["one"], 0, 1, [public(PRIVATE["two"])])
    responder = IdentityPeer(PRIVATE["two"], 1, 1, [])
    first = peer.on_datagram(responder.on_datagram(peer.hello(responder.salt)))
    assert protector._handshakes.on_datagram(first, "10.0.0.1", clock.nano_time()) is not None
    assert len(pending) == 1

    for _ in range(6):
        clock.advance(S)
        protector.do_work(clock.nano_time())

    assert pending == {}
