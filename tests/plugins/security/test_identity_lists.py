"""Lists of peers: wrong and unknown peers, peers that are added, and lists that cannot be read."""

import resource

import pytest
from aeron_security.identities import IdentityProtector
from hosts import DYNAMIC, PRIVATE, SECURED, HostPair, Load, flow, messages_of, value
from identities import IdentityPeer, public
from secure_udp import ANSWER, CHALLENGE, Peer

from aeron_core._native.clock import Clock
from aeron_core.spi import ProtectedRole, ProtectorParams
from aeron_core.testing import SimulatedLink, SimulatedPeer
from aeron_core.testing.pair import S

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
