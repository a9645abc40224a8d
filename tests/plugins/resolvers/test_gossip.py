"""Gossip packets of one driver: received, applied and sent."""

import contextlib
import json
import socket
from pathlib import Path

import pytest
from aeron_resolvers.gossip import (
    MAX_NAME_LENGTH,
    MAX_NAMES,
    MAX_PACKET_LENGTH,
    Gossip,
    GossipParams,
)
from aeron_resolvers.neighbors import MAX_NEIGHBORS
from aeron_resolvers.peer import GossipPeer
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame

HERE = GossipPeer(bytes([10, 0, 0, 1]), 8050)
THERE = GossipPeer(bytes([10, 0, 0, 2]), 8050)
FAR = GossipPeer(bytes([10, 0, 0, 3]), 8050)
LOOPBACK_6 = GossipPeer(bytes(15) + b"\x01", 8051)
SELF = wire.RES_FLAG_SELF


def make(name="here", peer=HERE, **params):
    return Gossip(GossipParams(name=name, peer=peer, **params), now_ms=0)


def packet(*entries):
    buffer = AtomicBuffer.allocate(65536)
    return buffer.get_bytes(0, ResolutionFrame(entries).encode(buffer, 0))


def entry(name, peer, age_ms=0, flags=0):
    return ResolutionEntry(name, peer.packed, peer.port, age_ms, flags)


def meet(gossip, name, peer, now_ms=0):
    """Let a driver answer, so that it is a neighbour."""
    for _ in range(2):
        gossip.on_packet(packet(entry(name, peer, flags=SELF)), peer, now_ms)
        while gossip.neighbors.take_prompt() is not None:
            pass


def packets_of(gossip, now_ms):
    names = gossip.names()
    while names:
        yield gossip.take_packet(names, now_ms)


def entries_of(data):
    return ResolutionFrame.decode(AtomicBuffer(data), 0, len(data)).entries


def test_a_driver_that_sends_its_name_is_known_and_a_candidate():
    gossip = make()

    gossip.on_packet(packet(entry("there", THERE, flags=SELF)), THERE, 0)

    assert gossip.find("there") == "10.0.0.2"
    assert (gossip.neighbors.peers, gossip.neighbors.candidates) == ([], [THERE])


def test_a_driver_named_by_another_is_known_and_a_candidate():
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, 100)), THERE, 1_000)

    assert gossip.find("far") == "10.0.0.3"
    assert (gossip.neighbors.peers, gossip.neighbors.candidates) == ([], [FAR])


def test_a_wildcard_is_replaced_by_the_source_address():
    gossip = make()

    gossip.on_packet(packet(entry("there", GossipPeer(bytes(4), 8050), flags=SELF)), THERE, 0)

    assert gossip.find("there") == "10.0.0.2"
    assert gossip.neighbors.candidates == [THERE]


@pytest.mark.parametrize("length", [4, 16])
def test_a_wildcard_passed_on_by_another_driver_is_ignored(length):
    gossip = make()

    gossip.on_packet(packet(entry("there", GossipPeer(bytes(length), 8050))), THERE, 0)

    assert gossip.find("there") is None
    assert gossip.neighbors.candidates == []


def test_the_ipv6_loopback_is_not_a_wildcard_and_is_passed_on_unchanged():
    gossip = make(peer=GossipPeer(bytes(15) + b"\x01", 8050))

    gossip.on_packet(packet(entry("there", LOOPBACK_6, flags=SELF)), LOOPBACK_6, 0)

    assert gossip.find("there") == "::1"
    (sent,) = [entry for data in packets_of(gossip, 10) for entry in entries_of(data)]
    assert sent.address == LOOPBACK_6.packed


def test_a_link_local_address_gets_the_scope_of_the_packet():
    link_local = socket.inet_pton(socket.AF_INET6, "fe80::1")
    gossip = make(peer=GossipPeer(bytes(16), 8050))

    gossip.on_packet(
        packet(entry("there", GossipPeer(link_local, 8050), flags=SELF)), GossipPeer(link_local, 8050, 3), 0
    )

    assert gossip.find("there") == "fe80::1%3"


def test_a_driver_of_the_other_address_family_is_known_but_no_neighbor():
    gossip = make()

    gossip.on_packet(packet(entry("six", LOOPBACK_6, flags=SELF)), LOOPBACK_6, 0)

    assert gossip.find("six") == "::1"
    assert gossip.neighbors.candidates == []


def test_ipv4_comes_first():
    gossip = make()

    gossip.on_packet(packet(entry("both", LOOPBACK_6), entry("both", THERE)), THERE, 0)

    assert gossip.find("both") == "10.0.0.2"


def test_entries_for_the_own_name_are_ignored():
    gossip = make()

    gossip.on_packet(packet(entry("here", FAR), entry("here", THERE, flags=SELF)), THERE, 0)

    assert gossip.find("here") == "10.0.0.1"
    assert (gossip.name_count, gossip.neighbors.candidates) == (0, [])


@pytest.mark.parametrize(
    ("ours", "peer", "flags", "is_other"),
    [
        (HERE, HERE, SELF, False),
        (HERE, THERE, 0, False),
        (HERE, THERE, SELF, True),
        (HERE, HERE._replace(port=9999), SELF, True),
        (GossipPeer(bytes(4), 8050), THERE, SELF, False),
        (GossipPeer(bytes(4), 8050), THERE._replace(port=9999), SELF, True),
    ],
)
def test_another_driver_with_the_own_name_is_detected_by_its_address(ours, peer, flags, is_other):
    gossip = make(peer=ours)

    gossip.on_packet(packet(entry("here", peer, flags=flags)), peer, 0)

    assert gossip.namesake == (peer if is_other else None)


def test_a_driver_that_is_silent_past_the_timeout_is_removed():
    gossip = make(timeout_ms=10_000)
    meet(gossip, "there", THERE)

    assert gossip.remove_silent(9_999) == 0
    assert gossip.remove_silent(10_000) == 2

    assert gossip.find("there") is None
    assert gossip.neighbors.peers == []


def test_entries_of_others_do_not_keep_a_neighbor_alive():
    gossip = make()
    meet(gossip, "far", FAR)

    gossip.on_packet(packet(entry("far", FAR, 1_000)), THERE, 9_000)
    gossip.remove_silent(10_000)

    assert gossip.find("far") == "10.0.0.3"
    assert gossip.neighbors.peers == []


def test_the_age_counts_from_the_last_packet_of_the_named_driver():
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, 4_000)), THERE, 10_000)
    gossip.remove_silent(15_999)
    assert gossip.find("far") is not None
    gossip.remove_silent(16_000)

    assert gossip.find("far") is None


@pytest.mark.parametrize("age_ms", [10_000, 2**31 - 1])
def test_entries_older_than_the_timeout_are_ignored(age_ms):
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, age_ms)), THERE, 20_000)

    assert (gossip.name_count, gossip.neighbors.candidates) == (0, [])


@pytest.mark.parametrize("age_ms", [-1, -(2**31)])
def test_a_negative_age_counts_as_zero(age_ms):
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, age_ms)), THERE, 0)
    gossip.remove_silent(10_000)

    assert gossip.name_count == 0


def test_older_entries_do_not_revert_the_address_of_a_driver():
    gossip = make()
    gossip.on_packet(packet(entry("far", FAR)), THERE, 0)
    moved = FAR._replace(packed=bytes([10, 0, 0, 99]))

    gossip.on_packet(packet(entry("far", moved, flags=SELF)), moved, 2_000)
    gossip.on_packet(packet(entry("far", FAR, 2_500)), THERE, 2_500)

    assert gossip.find("far") == "10.0.0.99"


# The same text for all: it goes into the distinct error log.
IMPOSSIBLE = (
    "^resolution entry with an impossible name or address: must have a name of 1 to 255 bytes, the address of one "
    "host, and a port from 1 to 65535$"
)


@pytest.mark.parametrize(
    "wrong",
    [
        entry("", FAR),
        entry("a" * (MAX_NAME_LENGTH + 1), FAR),
        entry("group", GossipPeer(bytes([224, 0, 1, 1]), 8050)),
        entry("group", GossipPeer(b"\xff\x02" + bytes(14), 8050)),
        entry("all", GossipPeer(b"\xff" * 4, 8050)),
        entry("nowhere", GossipPeer(bytes([10, 0, 0, 9]), 0)),
    ],
    ids=["no name", "long name", "group", "ipv6 group", "broadcast", "no port"],
)
def test_an_invalid_entry_is_refused_and_entries_before_it_are_applied(wrong):
    gossip = make()

    with pytest.raises(ProtocolError, match=IMPOSSIBLE):
        gossip.on_packet(packet(entry("there", THERE), wrong), THERE, 0)

    assert (gossip.name_count, gossip.neighbors.candidates) == (1, [THERE])


def peer_number(number):
    return GossipPeer(bytes([10, 1, number >> 8, number & 0xFF]), 8050)


def test_names_and_neighbors_are_limited():
    gossip = make()

    for number in range(MAX_NAMES + 10):
        meet(gossip, f"node-{number}", peer_number(number))

    assert (gossip.name_count, len(gossip.neighbors)) == (MAX_NAMES, MAX_NEIGHBORS)
    # The second packet of each of the last ten would have made it a neighbour; both state a name.
    assert gossip.refused_count == 10 + 20


def test_the_name_of_a_neighbor_replaces_hearsay_in_a_full_table():
    gossip = make()
    for number in range(MAX_NAMES):
        gossip.on_packet(packet(entry(f"forged-{number}", peer_number(number))), THERE, 0)

    meet(gossip, "far", FAR)
    gossip.on_packet(packet(entry("one more", THERE)), THERE, 0)

    assert gossip.find("far") == "10.0.0.3"
    assert gossip.find("one more") is None
    assert gossip.name_count == MAX_NAMES


def test_the_own_name_is_sent_at_once_and_then_each_interval():
    gossip = make(self_interval_ms=1_000)

    due = [now_ms for now_ms in range(0, 3_001, 10) if gossip.is_self_due(now_ms)]

    assert due == [0, 1_000, 2_000, 3_000]
    assert entries_of(gossip.self_packet) == (entry("here", HERE, flags=SELF),)


def test_names_of_others_are_sent_each_interval():
    gossip = make(neighbor_interval_ms=2_000)
    gossip.on_packet(packet(entry("there", THERE, flags=SELF)), THERE, 500)

    due = [now_ms for now_ms in range(0, 4_001, 10) if gossip.is_neighbor_due(now_ms)]

    assert due == [2_000, 4_000]
    (data,) = packets_of(gossip, 2_000)
    assert entries_of(data) == (entry("there", THERE, 1_500),)


@pytest.mark.parametrize(("mtu", "count"), [(1408, 3), (200, 25), (64, 100)])
def test_names_of_others_are_split_at_the_mtu(mtu, count):
    gossip = make(mtu=mtu)
    for number in range(100):
        gossip.on_packet(packet(entry(f"node-{number:03}", peer_number(number))), THERE, 0)

    packets = list(packets_of(gossip, 0))

    assert max(map(len, packets)) <= mtu
    names = [one.name for data in packets for one in entries_of(data)]
    assert names == [f"node-{number:03}" for number in range(100)]
    assert len(packets) <= count


def test_a_packet_is_short_whatever_the_mtu():
    gossip = make(mtu=65504)
    for number in range(100):
        gossip.on_packet(packet(entry(f"node-{number:03}", peer_number(number))), THERE, 0)

    assert max(map(len, packets_of(gossip, 0))) <= MAX_PACKET_LENGTH


def test_the_names_of_neighbors_are_sent_first():
    gossip = make()
    gossip.on_packet(packet(entry("far", FAR)), THERE, 0)
    meet(gossip, "there", THERE)

    (data,) = packets_of(gossip, 0)

    assert [one.name for one in entries_of(data)] == ["there", "far"]


def test_names_that_time_out_during_a_round_are_not_sent():
    gossip = make()
    gossip.on_packet(packet(entry("far", FAR)), THERE, 0)
    names = gossip.names()
    gossip.remove_silent(10_000)

    assert (gossip.take_packet(names, 10_000), len(names)) == (b"", 0)


@given(data=st.binary(max_size=300))
def test_random_bytes_never_corrupt_the_tables(data):
    gossip = make()

    for head in (b"", b"\0\0\0\0\0\0\x07\0", b"\0\0\0\0\0\0\x07\0\x01\x80"):
        with contextlib.suppress(ProtocolError):
            gossip.on_packet(head + data, THERE, 0)

    assert gossip.name_count <= 100
    gossip.remove_silent(10_000)
    assert (gossip.name_count, gossip.neighbors.candidates) == (0, [])


CAPTURES = sorted((Path(__file__).parents[2] / "vectors").glob("11*.json"))


def is_known(gossip, peer):
    # The reference sends to each driver that another one names, and does not wait for an answer.
    return peer in gossip.neighbors or peer in gossip.neighbors.candidates


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_packets_equal_those_of_captured_reference_drivers(path):
    capture = json.loads(path.read_text())
    ports = {one["driver"]: int(one["interface"].rpartition(":")[2]) for one in capture["resolvers"]}
    peers = {driver: GossipPeer(bytes([127, 0, 0, 1]), port) for driver, port in ports.items()}
    ours = {one["driver"]: make(one["name"], peers[one["driver"]]) for one in capture["resolvers"]}
    bootstraps = {one["driver"]: one["bootstrap"].rpartition(":")[2] for one in capture["resolvers"]}
    sent = 0

    for datagram in capture["datagrams"]:
        data, now_ms = bytes.fromhex(datagram["hex"]), datagram["t_us"] // 1000
        if data[wire.FRAME_TYPE_OFFSET] != wire.TYPE_RES:
            continue  # of the publication that used the name
        speaker, source = ours[datagram["src"]], peers[datagram["src"]]
        to = GossipPeer(bytes([127, 0, 0, 1]), datagram["dst_port"])
        entries = entries_of(data)
        if entries[0].is_self:
            assert entries == entries_of(speaker.self_packet)
            assert is_known(speaker, to) or str(to.port) == bootstraps[datagram["src"]]
        else:
            would_be = [one for packet in packets_of(speaker, now_ms) for one in entries_of(packet)]
            assert {(one.name, one.address, one.udp_port) for one in entries} == {
                (one.name, one.address, one.udp_port) for one in would_be
            }
            assert is_known(speaker, to)
        sent += 1
        for driver in datagram["to"]:
            ours[driver].on_packet(data, source, now_ms)

    assert sent >= 20
    assert all(gossip.name_count == len(ours) - 1 for gossip in ours.values())
