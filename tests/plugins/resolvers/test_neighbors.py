"""Candidates prove their address; until then they receive little."""

import pytest
from aeron_resolvers.neighbors import (
    MAX_AMPLIFICATION,
    MAX_CANDIDATES,
    MAX_INTRODUCTIONS_PER_S,
    MAX_NEIGHBORS,
    Neighbors,
)
from aeron_resolvers.peer import GossipPeer

THERE = GossipPeer(bytes([10, 0, 0, 2]), 8050)
SELF_LENGTH = 32
COST = SELF_LENGTH + 20 + 8
PACKET_LENGTH = COST  # that of a peer with a name of the same length


def make():
    return Neighbors(SELF_LENGTH, timeout_ms=10_000, self_interval_ms=1_000, now_ms=0)


def peer_number(number):
    return GossipPeer(bytes([10, 1, number >> 8, number & 0xFF]), 8050)


def prompts(neighbors):
    return list(iter(neighbors.take_prompt, None))


def test_a_candidate_is_asked_at_once_and_becomes_a_neighbor_by_its_answer():
    neighbors = make()

    neighbors.on_introduction(THERE, 24, 0)
    asked = prompts(neighbors)
    neighbors.on_self(THERE, PACKET_LENGTH, 10, 10)

    assert asked == [THERE]
    assert (neighbors.peers, neighbors.candidates) == ([THERE], [])


def test_two_drivers_are_neighbors_after_three_packets():
    one, other = make(), make()
    here = GossipPeer(bytes([10, 0, 0, 1]), 8050)
    other.trust([here])

    one.on_self(THERE, PACKET_LENGTH, 0, 0)
    assert prompts(one) == [THERE]
    other.on_self(here, PACKET_LENGTH, 0, 0)
    assert prompts(other) == [here]
    one.on_self(THERE, PACKET_LENGTH, 0, 0)

    assert (one.peers, other.peers) == ([THERE], [here])
    # One more answer, which the other one does not answer.
    assert prompts(one) == [THERE]
    other.on_self(here, PACKET_LENGTH, 0, 0)
    assert prompts(other) == []


def test_a_packet_before_the_own_name_was_sent_is_no_answer():
    neighbors = Neighbors(1_000, timeout_ms=10_000, self_interval_ms=1_000, now_ms=0)

    neighbors.on_self(THERE, 24, 0, 0)
    neighbors.on_self(THERE, 24, 1, 1)

    assert (neighbors.peers, prompts(neighbors)) == ([], [])


@pytest.mark.parametrize("length", [16, 24, 60, 280])
def test_an_address_that_does_not_answer_receives_at_most_the_allowed_multiple(length):
    neighbors = make()
    received = sent = 0

    for now_ms in range(0, 60_000, 100):
        neighbors.on_introduction(THERE, length, now_ms)
        neighbors.remove_silent(now_ms)
        received += length
        sent += COST * len(prompts(neighbors))
        assert sent <= MAX_AMPLIFICATION * received

    assert 0 < sent <= 60 * COST


def test_a_candidate_that_is_no_longer_named_is_removed():
    neighbors = make()
    neighbors.on_introduction(THERE, 24, 0)

    assert (neighbors.remove_silent(9_999), neighbors.remove_silent(10_000)) == (0, 1)
    assert (neighbors.candidates, prompts(neighbors)) == ([], [])


def test_introductions_are_rate_limited():
    neighbors = make()

    for number in range(400):
        neighbors.on_introduction(peer_number(number), 24, 0)
    assert len(neighbors.candidates) == MAX_INTRODUCTIONS_PER_S
    for number in range(400):
        neighbors.on_introduction(peer_number(number), 24, 1_000)

    assert len(neighbors.candidates) == 400


def test_a_driver_that_sends_packets_replaces_a_candidate_when_there_are_too_many():
    neighbors = make()
    for number in range(MAX_CANDIDATES):
        neighbors.on_introduction(peer_number(number), 24, number // 200 * 1_000)

    neighbors.on_introduction(peer_number(2_000), 24, 9_000)
    for _ in range(2):
        neighbors.on_self(THERE, PACKET_LENGTH, 9_000, 9_000)

    assert neighbors.peers == [THERE]
    assert peer_number(2_000) not in neighbors.candidates
    assert neighbors.refused_count == 2


def test_neighbors_are_limited():
    neighbors = make()

    for number in range(MAX_NEIGHBORS + 1):
        for _ in range(2):
            neighbors.on_self(peer_number(number), PACKET_LENGTH, 0, 0)

    assert (len(neighbors), neighbors.refused_count) == (MAX_NEIGHBORS, 1)
