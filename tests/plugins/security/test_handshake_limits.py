"""Limits of handshakes: floods of forged datagrams, of one source and of many, and hosts that disturb others."""

import random
from dataclasses import replace

import pytest
from aeron_security.budgets import source_of
from aeron_security.handshakes import (
    MAX_FAILED_IN_SECOND,
    MAX_FAILED_OF_SOURCE_IN_SECOND,
    MAX_OF_SOURCE_IN_SECOND,
    MAX_PENDING,
    HandshakeRefusedError,
    Handshakes,
)
from aeron_security.identity_files import AllowedPeer
from hosts import host
from identities import COOKIE, HELLO, SECOND, THIRD, IdentityPeer, public

ONE, TWO, THREE, STRANGER = (bytes([number]) * 32 for number in (1, 2, 3, 4))
S = 1_000_000_000


def first_of(private, responder, salt=b"i" * 16):
    """Return a first of a host that may be a stranger."""
    peer = IdentityPeer(private, 0, 1, [public(responder)])
    token = peer.token(b"r" * 16)
    hint_of = IdentityPeer(responder, 1, 1, [])
    cookie = hint_of.on_hello(b"AeSU" + bytes(4) + salt + bytes(16) + token, b"r" * 16, b"")
    return peer.on_datagram(cookie[:8] + b"r" * 16 + peer.salt + cookie[40:])


def test_a_flood_of_forged_firsts_costs_one_agreement_each_up_to_a_limit_and_no_memory():
    # An attacker that has addresses, and so right cookies, but no identity: it encrypts its own key.
    admitted = []
    made = Handshakes(host(TWO, 1, admitted))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    forged = first_of(STRANGER, TWO)
    numbers = random.Random(1)
    refused = {"identity": 0, "handshake": 0, "busy": 0}

    for number in range(100_000):
        datagram = forged if number % 2 else forged[:72] + numbers.randbytes(96)
        try:
            made.on_datagram(datagram, f"10.0.{number % 200}.1", number * S // 100_000)
        except HandshakeRefusedError as error:
            refused[error.reason] += 1

    assert made.agreements <= MAX_FAILED_IN_SECOND
    assert refused["identity"] + refused["handshake"] <= MAX_FAILED_IN_SECOND
    assert refused["busy"] > 99_000
    assert len(made._pending) == 0
    assert len(made._failed._by_source) <= MAX_FAILED_IN_SECOND
    # In the next second, a peer is answered.
    assert made.on_datagram(first_of(ONE, TWO), "10.0.0.1", 2 * S)[5] == SECOND


def test_one_host_does_not_use_up_the_limit_of_all():
    made = Handshakes(host(TWO, 1, []))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    forged = first_of(STRANGER, TWO)
    for _ in range(1000):
        with pytest.raises(HandshakeRefusedError):
            made.on_datagram(forged, "10.0.0.9", 0)

    assert made.agreements == MAX_FAILED_OF_SOURCE_IN_SECOND
    assert made.on_datagram(first_of(ONE, TWO), "10.0.0.1", 0)[5] == SECOND


def flood_of_firsts(made, sources, second):
    """Send garbage with right cookies from each source, as often as it costs an agreement, and once more."""
    numbers = random.Random(second)
    forged = first_of(STRANGER, TWO)
    for source in sources:
        for _ in range(MAX_FAILED_OF_SOURCE_IN_SECOND + 1):
            with pytest.raises(HandshakeRefusedError):
                made.on_datagram(forged[:72] + numbers.randbytes(96), source, second * S)


def test_firsts_of_garbage_from_many_addresses_do_not_keep_a_new_peer_out():
    made = Handshakes(host(TWO, 1, []))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})

    for second in range(5):
        flood_of_firsts(made, [f"10.0.1.{number}" for number in range(60)], second)
        first = first_of(ONE, TWO, salt=bytes([second]) * 16)
        assert made.on_datagram(first, "10.0.0.1", second * S)[5] == SECOND


def test_firsts_of_garbage_from_any_number_of_addresses_leave_the_other_direction_and_known_hosts():
    made = Handshakes(host(TWO, 1, []))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    responder = IdentityPeer(ONE, 0, 1, [public(TWO)])
    # The socket says hello, because a datagram has arrived whose salt is unknown.
    head = b"AeSU" + bytes([1, HELLO, 1, 1]) + b"r" * 16 + responder.salt
    cookie = responder.on_datagram(head + b"t" * 16 + bytes(24))

    flood_of_firsts(made, [f"10.0.1.{number}" for number in range(64)], 1)
    with pytest.raises(HandshakeRefusedError, match="busy"):
        made.on_datagram(first_of(ONE, TWO), "10.0.0.1", S)
    first = made.on_datagram(cookie, "10.0.0.1", S)
    assert made.on_datagram(responder.on_datagram(first), "10.0.0.1", S)[5] == THIRD

    # The host is known now.
    assert made.on_datagram(first_of(ONE, TWO), "10.0.0.1", S)[5] == SECOND


def test_cookies_with_a_wrong_hint_do_not_cost_more_with_a_longer_list():
    made = Handshakes(host(TWO, 1, []))
    peers = [AllowedPeer(str(number), bytes([number // 256, number % 256]) * 16) for number in range(1024)]
    made.set_peers({each.public_key: each for each in peers})
    cookie = b"AeSU" + bytes([1, COOKIE, 0, 1]) + bytes(72)
    refused = {"identity": 0, "busy": 0}

    for number in range(5000):
        try:
            made.on_datagram(cookie, f"10.0.{number % 250}.1", S)
        except HandshakeRefusedError as error:
            refused[error.reason] += 1

    assert refused["identity"] * len(peers) <= 1 << 16


@pytest.mark.parametrize(
    ("hosts", "count"),
    [
        (["2001:db8::1", "2001:db8::2:1"], 1),
        (["2001:db8::1", "2001:db8:0:1::1"], 2),
        (["fe80::1", "fe80::2"], 2),
        (["::ffff:10.0.0.1", "::ffff:10.0.0.2"], 2),
        (["::ffff:10.0.0.1", "10.0.0.1"], 1),
    ],
)
def test_a_source_is_an_address_or_an_ipv6_network_of_64_bits(hosts, count):
    assert len({source_of(each) for each in hosts}) == count


def test_forged_seconds_cost_two_agreements_each_up_to_a_limit():
    # An attacker on the path has the token of the hello, and answers the first in the name of the responder.
    made = Handshakes(host(ONE, 0, []))
    made.set_peers({public(TWO): AllowedPeer("two", public(TWO))})
    responder = IdentityPeer(TWO, 1, 1, [public(ONE)])
    salt, token = b"i" * 16, b"t" * 16
    head = b"AeSU" + bytes([1, HELLO, 0, 1]) + salt + responder.salt
    first = made.on_datagram(responder.on_datagram(head + token + bytes(24)), "10.0.0.2", 0)
    second = responder.on_datagram(first)
    before = made.agreements
    for number in range(1000):
        forged = second[:56] + public(bytes([number % 250 + 1]) * 32) + second[88:]
        with pytest.raises(HandshakeRefusedError):
            made.on_datagram(forged, "10.0.0.2", 0)

    assert made.agreements - before <= 2 * MAX_OF_SOURCE_IN_SECOND
    # In the next second, the right one is accepted.
    assert made.on_datagram(second, "10.0.0.2", S)[5] == THIRD


@pytest.mark.parametrize("hinted", [TWO, THREE], ids=["owner", "another peer"])
@pytest.mark.parametrize("is_first", [True, False])
def test_another_host_that_has_seen_a_salt_does_not_spoil_the_handshake_with_its_owner(hinted, is_first):
    # Public keys are no secret; and a datagram with the salt of another one causes a hello, whose token is right.
    admitted = []
    made = Handshakes(host(ONE, 0, admitted))
    made.set_peers({public(key): AllowedPeer("peer", public(key)) for key in (TWO, THREE)})
    responder = IdentityPeer(TWO, 1, 1, [public(ONE)])
    hello = b"AeSU" + bytes([1, HELLO, 0, 1]) + b"i" * 16 + responder.salt + b"t" * 16 + bytes(24)
    cookie = responder.on_datagram(hello)
    false = IdentityPeer(hinted, 1, 1, []).on_hello(hello, b"i" * 16, b"elsewhere")
    false = cookie[:56] + false[56:]

    if is_first:
        made.on_datagram(false, "10.0.0.9", 0)
    first = made.on_datagram(cookie, "10.0.0.2", 0)
    if not is_first:
        made.on_datagram(false, "10.0.0.9", 0)
    responder.on_datagram(made.on_datagram(responder.on_datagram(first), "10.0.0.2", 0))

    assert len(responder.granted) == len(admitted) == 1


def test_a_first_that_another_host_repeats_does_not_spoil_a_handshake():
    admitted = []
    made = Handshakes(host(TWO, 1, admitted))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    initiator = IdentityPeer(ONE, 0, 1, [public(TWO)])
    cookie = IdentityPeer(TWO, 1, 1, []).on_hello(initiator.hello(b"r" * 16), initiator.salt, b"")
    cookie = cookie[:8] + b"r" * 16 + initiator.salt + cookie[40:]
    recorded, first = (initiator.on_cookie(cookie, b"r" * 16, b"") for _ in range(2))

    second = made.on_datagram(first, "10.0.0.1", 0)
    made.on_datagram(recorded, "10.0.0.9", 0)
    third = initiator.on_second(second, b"r" * 16, b"")
    made.on_datagram(third, "10.0.0.1", 0)

    assert len(admitted) == 1


def test_a_peer_with_two_addresses_costs_one_handshake():
    admitted = []
    made = Handshakes(host(ONE, 0, admitted))
    made.set_peers({public(TWO): AllowedPeer("two", public(TWO))})
    responder = IdentityPeer(TWO, 1, 1, [public(ONE)])
    hello = b"AeSU" + bytes([1, HELLO, 0, 1]) + b"i" * 16 + responder.salt + b"t" * 16 + bytes(24)
    cookie = responder.on_datagram(hello)

    firsts = {made.on_datagram(cookie, source, 0) for source in ("10.0.0.2", "10.0.1.2")}
    second = responder.on_datagram(firsts.pop())

    assert firsts == set()
    assert made.on_datagram(second, "10.0.1.2", 0)[5] == THIRD
    assert made.on_datagram(second, "10.0.0.2", 0) is None
    assert len(admitted) == 1
    assert made.agreements == 4


def test_handshakes_that_do_not_end_are_bounded_and_forgotten():
    made = Handshakes(host(TWO, 1, []))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    for number in range(3 * MAX_PENDING):
        made.on_datagram(first_of(ONE, TWO), f"10.0.0.{number}", number * S // 50)

    assert len(made._pending) == MAX_PENDING


def test_the_limits_of_a_peer_do_not_depend_on_the_identity_that_it_claims():
    # The static key of a first is checked only after its decryption, which needs the ephemeral key.
    admitted = []
    made = Handshakes(replace(host(TWO, 1, admitted)))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    first = bytearray(first_of(STRANGER, TWO))
    first[104:136] = public(ONE)

    with pytest.raises(HandshakeRefusedError, match="handshake"):
        made.on_datagram(bytes(first), "10.0.0.9", 0)

    assert made.agreements == 1


def test_hosts_with_the_source_of_a_socket_that_is_known_do_not_keep_it_from_handshakes():
    made = Handshakes(host(TWO, 1, []))
    made.set_peers({public(ONE): AllowedPeer("one", public(ONE))})
    responder = IdentityPeer(ONE, 0, 1, [public(TWO)])
    head = b"AeSU" + bytes([1, HELLO, 1, 1]) + b"r" * 16 + responder.salt

    def run(second):
        cookie = responder.on_datagram(head + b"t" * 16 + bytes(24))
        first = made.on_datagram(cookie, "2001:db8::1", second * S, port=1000)
        third = made.on_datagram(responder.on_datagram(first), "2001:db8::1", second * S, port=1000)
        assert third[5] == THIRD

    run(1)
    forged = b"AeSU" + bytes([1, COOKIE, 0, 1]) + bytes(72)
    for second in range(2, 5):
        flood_of_firsts(made, ["2001:db8::2"], second)
        for _ in range(MAX_FAILED_OF_SOURCE_IN_SECOND + 1):
            with pytest.raises(HandshakeRefusedError):
                made.on_datagram(forged, "2001:db8::2", second * S, port=1000)
        run(second)
        # It is given little more.
        for _ in range(2):
            with pytest.raises(HandshakeRefusedError, match="identity"):
                made.on_datagram(forged, "2001:db8::1", second * S, port=1000)
        with pytest.raises(HandshakeRefusedError, match="busy"):
            made.on_datagram(forged, "2001:db8::1", second * S, port=1000)
