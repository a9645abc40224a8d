"""Which addresses are one source, and how many connections it has."""

import random
from collections import Counter

import pytest
from aeron_media._native.source_counts import SourceCounts

from aeron_core._native.address import SocketAddress


def address(host, port=1):
    return SocketAddress.of(host, port)


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1", "fe80::2", False),
        ("fe80::1", "fe80::1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
    ],
)
def test_a_source_is_an_ipv4_address_or_an_ipv6_network(one, other, are_same):
    counts = SourceCounts(0)
    counts.add(address(one, 1))
    assert counts.count(address(other, 2)) == are_same


def test_a_source_at_its_limit_has_no_space_until_a_connection_ends():
    counts = SourceCounts(2)
    for port in (1, 2):
        assert counts.has_space(address("10.0.0.1", port))
        counts.add(address("10.0.0.1", port))
    assert not counts.has_space(address("10.0.0.1", 3))
    assert counts.has_space(address("10.0.0.2", 3))

    counts.remove(address("10.0.0.1", 2))

    assert counts.has_space(address("10.0.0.1", 3))


def test_without_a_limit_there_is_always_space():
    counts = SourceCounts(0)
    for port in range(1, 1000):
        counts.add(address("10.0.0.1", port))
    assert counts.has_space(address("10.0.0.1", 1000))


def test_only_sources_with_connections_are_stored():
    chance = random.Random(1)
    counts, expected = SourceCounts(0), Counter()
    for _ in range(5000):
        host = f"10.0.{chance.randrange(20)}.{chance.randrange(20)}"
        if expected[host] and chance.random() < 0.6:
            counts.remove(address(host))
            expected[host] -= 1
        else:
            counts.add(address(host))
            expected[host] += 1
        assert counts.count(address(host)) == expected[host]
    assert len(counts) == sum(1 for count in expected.values() if count)
