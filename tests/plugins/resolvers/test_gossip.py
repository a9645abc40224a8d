"""What a driver makes of what others tell, and what it tells them."""

import contextlib
import json
import socket
from pathlib import Path

import pytest
from aeron_resolvers.gossip import (
    MAX_INTRODUCTIONS_PER_S,
    MAX_NAME_LENGTH,
    MAX_NAMES,
    MAX_NEIGHBORS,
    Gossip,
    GossipParams,
    Place,
)
from hypothesis import given
from hypothesis import strategies as st

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame

HERE = Place(bytes([10, 0, 0, 1]), 8050)
THERE = Place(bytes([10, 0, 0, 2]), 8050)
FAR = Place(bytes([10, 0, 0, 3]), 8050)
LOOPBACK_6 = Place(bytes(15) + b"\x01", 8051)
SELF = wire.RES_FLAG_SELF


def make(name="here", place=HERE, **params):
    return Gossip(GossipParams(name=name, place=place, **params), now_ms=0)


def packet(*entries):
    buffer = AtomicBuffer.allocate(65536)
    return buffer.get_bytes(0, ResolutionFrame(entries).encode(buffer, 0))


def entry(name, place, age_ms=0, flags=0):
    return ResolutionEntry(name, place.packed, place.port, age_ms, flags)


def entries_of(data):
    return ResolutionFrame.decode(AtomicBuffer(data), 0, len(data)).entries


def test_who_tells_its_name_is_known_and_a_neighbor():
    gossip = make()

    gossip.on_packet(packet(entry("there", THERE, flags=SELF)), THERE, 0)

    assert gossip.find("there") == "10.0.0.2"
    assert gossip.neighbors == [THERE]


def test_who_is_spoken_of_is_known_and_a_neighbor():
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, 100)), THERE, 1_000)

    assert gossip.find("far") == "10.0.0.3"
    assert gossip.neighbors == [FAR]


def test_a_wildcard_is_where_the_packet_came_from():
    gossip = make()

    gossip.on_packet(packet(entry("there", Place(bytes(4), 8050), flags=SELF)), THERE, 0)

    assert gossip.find("there") == "10.0.0.2"
    assert gossip.neighbors == [THERE]


@pytest.mark.parametrize("length", [4, 16])
def test_a_wildcard_that_is_passed_on_says_nothing(length):
    gossip = make()

    gossip.on_packet(packet(entry("there", Place(bytes(length), 8050))), THERE, 0)

    assert gossip.find("there") is None
    assert gossip.neighbors == []


def test_the_loopback_of_ipv6_is_no_wildcard_and_is_passed_on_whole():
    gossip = make(place=Place(bytes(15) + b"\x01", 8050))

    gossip.on_packet(packet(entry("there", LOOPBACK_6, flags=SELF)), LOOPBACK_6, 0)

    assert gossip.find("there") == "::1"
    (told,) = [entry for data in gossip.neighbor_packets(10) for entry in entries_of(data)]
    assert told.address == LOOPBACK_6.packed


def test_a_link_local_address_is_on_the_link_of_who_told_it():
    link_local = socket.inet_pton(socket.AF_INET6, "fe80::1")
    gossip = make(place=Place(bytes(16), 8050))

    gossip.on_packet(
        packet(entry("there", Place(link_local, 8050), flags=SELF)), Place(link_local, 8050, 3), 0
    )

    assert gossip.find("there") == "fe80::1%3"


def test_a_neighbor_of_the_other_family_is_known_but_not_told():
    gossip = make()

    gossip.on_packet(packet(entry("six", LOOPBACK_6, flags=SELF)), LOOPBACK_6, 0)

    assert gossip.find("six") == "::1"
    assert gossip.neighbors == []


def test_ipv4_comes_first():
    gossip = make()

    gossip.on_packet(packet(entry("both", LOOPBACK_6), entry("both", THERE)), THERE, 0)

    assert gossip.find("both") == "10.0.0.2"


def test_our_own_name_is_ourselves_whatever_others_say():
    gossip = make()

    gossip.on_packet(packet(entry("here", FAR), entry("here", THERE, flags=SELF)), THERE, 0)

    assert gossip.find("here") == "10.0.0.1"
    assert (gossip.name_count, gossip.neighbors) == (0, [])


@pytest.mark.parametrize(
    ("ours", "place", "flags", "is_other"),
    [
        (HERE, HERE, SELF, False),
        (HERE, THERE, 0, False),
        (HERE, THERE, SELF, True),
        (HERE, HERE._replace(port=9999), SELF, True),
        (Place(bytes(4), 8050), THERE, SELF, False),
        (Place(bytes(4), 8050), THERE._replace(port=9999), SELF, True),
    ],
)
def test_another_driver_of_our_name_is_noticed_where_it_can_be_told_from_us(ours, place, flags, is_other):
    gossip = make(place=ours)

    gossip.on_packet(packet(entry("here", place, flags=flags)), place, 0)

    assert gossip.has_namesake == is_other


def test_who_is_silent_past_the_timeout_is_forgotten():
    gossip = make(timeout_ms=10_000)
    gossip.on_packet(packet(entry("there", THERE, flags=SELF)), THERE, 0)

    assert gossip.forget_silent(9_999) == 0
    assert gossip.forget_silent(10_000) == 2

    assert gossip.find("there") is None
    assert gossip.neighbors == []


def test_what_others_say_keeps_nobody_a_neighbor():
    gossip = make()
    gossip.on_packet(packet(entry("far", FAR, flags=SELF)), FAR, 0)

    gossip.on_packet(packet(entry("far", FAR, 1_000)), THERE, 9_000)
    gossip.forget_silent(10_000)

    assert gossip.find("far") == "10.0.0.3"
    assert gossip.neighbors == []


def test_the_age_counts_from_when_the_driver_itself_spoke():
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, 4_000)), THERE, 10_000)
    gossip.forget_silent(15_999)
    assert gossip.find("far") is not None
    gossip.forget_silent(16_000)

    assert gossip.find("far") is None


@pytest.mark.parametrize("age_ms", [10_000, 2**31 - 1])
def test_news_that_are_too_old_are_none(age_ms):
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, age_ms)), THERE, 20_000)

    assert (gossip.name_count, gossip.neighbors) == (0, [])


@pytest.mark.parametrize("age_ms", [-1, -(2**31)])
def test_news_from_the_future_are_of_now(age_ms):
    gossip = make()

    gossip.on_packet(packet(entry("far", FAR, age_ms)), THERE, 0)
    gossip.forget_silent(10_000)

    assert gossip.name_count == 0


def test_old_news_do_not_move_back_a_driver_that_has_moved():
    gossip = make()
    gossip.on_packet(packet(entry("far", FAR)), THERE, 0)
    moved = FAR._replace(packed=bytes([10, 0, 0, 99]))

    gossip.on_packet(packet(entry("far", moved, flags=SELF)), moved, 2_000)
    gossip.on_packet(packet(entry("far", FAR, 2_500)), THERE, 2_500)

    assert gossip.find("far") == "10.0.0.99"


@pytest.mark.parametrize(
    "wrong",
    [
        entry("", FAR),
        entry("a" * (MAX_NAME_LENGTH + 1), FAR),
        entry("group", Place(bytes([224, 0, 1, 1]), 8050)),
        entry("group", Place(b"\xff\x02" + bytes(14), 8050)),
        entry("all", Place(b"\xff" * 4, 8050)),
        entry("nowhere", Place(bytes([10, 0, 0, 9]), 0)),
    ],
    ids=["no name", "long name", "group", "ipv6 group", "broadcast", "no port"],
)
def test_an_entry_that_cannot_be_true_is_refused_and_what_came_before_it_counts(wrong):
    gossip = make()

    with pytest.raises(ProtocolError):
        gossip.on_packet(packet(entry("there", THERE), wrong), THERE, 0)

    assert (gossip.name_count, gossip.neighbors) == (1, [THERE])


def place_number(number):
    return Place(bytes([10, 1, number >> 8, number & 0xFF]), 8050)


def test_names_and_neighbors_are_bounded():
    gossip = make()

    for number in range(MAX_NAMES + 10):
        place = place_number(number)
        gossip.on_packet(packet(entry(f"node-{number}", place, flags=SELF)), place, 0)

    assert (gossip.name_count, len(gossip.neighbors)) == (MAX_NAMES, MAX_NEIGHBORS)
    assert gossip.refused_count == 20


def test_one_packet_cannot_have_us_speak_to_the_whole_world_at_once():
    gossip = make()

    def hear(now_ms, first):
        entries = [entry(f"node-{number}", place_number(number)) for number in range(first, first + 400)]
        gossip.on_packet(packet(*entries), THERE, now_ms)

    hear(0, 0)
    assert len(gossip.neighbors) == MAX_INTRODUCTIONS_PER_S
    hear(1_000, 0)

    assert len(gossip.neighbors) == 400


def test_our_name_is_told_at_once_and_then_each_interval():
    gossip = make(self_interval_ms=1_000)

    due = [now_ms for now_ms in range(0, 3_001, 10) if gossip.is_self_due(now_ms)]

    assert due == [0, 1_000, 2_000, 3_000]
    assert entries_of(gossip.self_packet()) == (entry("here", HERE, flags=SELF),)


def test_what_others_said_is_told_each_interval():
    gossip = make(neighbor_interval_ms=2_000)
    gossip.on_packet(packet(entry("there", THERE, flags=SELF)), THERE, 500)

    due = [now_ms for now_ms in range(0, 4_001, 10) if gossip.is_neighbor_due(now_ms)]

    assert due == [2_000, 4_000]
    (data,) = gossip.neighbor_packets(2_000)
    assert entries_of(data) == (entry("there", THERE, 1_500),)


@pytest.mark.parametrize(("mtu", "count"), [(1408, 3), (200, 25), (64, 100)])
def test_what_others_said_is_split_at_the_mtu(mtu, count):
    gossip = make(mtu=mtu)
    for number in range(100):
        gossip.on_packet(packet(entry(f"node-{number:03}", place_number(number))), THERE, 0)

    packets = list(gossip.neighbor_packets(0))

    assert max(map(len, packets)) <= mtu
    names = [one.name for data in packets for one in entries_of(data)]
    assert names == [f"node-{number:03}" for number in range(100)]
    assert len(packets) <= count


@given(data=st.binary(max_size=300))
def test_random_bytes_are_refused_and_change_no_more_than_they_may(data):
    gossip = make()

    for head in (b"", b"\0\0\0\0\0\0\x07\0", b"\0\0\0\0\0\0\x07\0\x01\x80"):
        with contextlib.suppress(ProtocolError):
            gossip.on_packet(head + data, THERE, 0)

    assert gossip.name_count <= 100
    gossip.forget_silent(10_000)
    assert (gossip.name_count, gossip.neighbors) == (0, [])


CAPTURES = sorted((Path(__file__).parents[2] / "vectors").glob("11*.json"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_we_would_have_told_what_real_drivers_told_to_whom_they_told_it(path):
    capture = json.loads(path.read_text())
    ports = {one["driver"]: int(one["interface"].rpartition(":")[2]) for one in capture["resolvers"]}
    places = {driver: Place(bytes([127, 0, 0, 1]), port) for driver, port in ports.items()}
    ours = {one["driver"]: make(one["name"], places[one["driver"]]) for one in capture["resolvers"]}
    bootstraps = {one["driver"]: one["bootstrap"].rpartition(":")[2] for one in capture["resolvers"]}
    told = 0

    for datagram in capture["datagrams"]:
        data, now_ms = bytes.fromhex(datagram["hex"]), datagram["t_us"] // 1000
        if data[wire.FRAME_TYPE_OFFSET] != wire.TYPE_RES:
            continue  # of the publication that the name was for
        speaker, source = ours[datagram["src"]], places[datagram["src"]]
        to = Place(bytes([127, 0, 0, 1]), datagram["dst_port"])
        entries = entries_of(data)
        if entries[0].is_self:
            assert entries == entries_of(speaker.self_packet())
            assert to in speaker.neighbors or str(to.port) == bootstraps[datagram["src"]]
        else:
            would_be = [one for packet in speaker.neighbor_packets(now_ms) for one in entries_of(packet)]
            assert {(one.name, one.address, one.udp_port) for one in entries} == {
                (one.name, one.address, one.udp_port) for one in would_be
            }
            assert to in speaker.neighbors
        told += 1
        for driver in datagram["to"]:
            ours[driver].on_packet(data, source, now_ms)

    assert told >= 20
    assert all(gossip.name_count == len(ours) - 1 for gossip in ours.values())
