"""Addresses of drivers in gossip, compared with the standard library."""

import ipaddress

import pytest
from aeron_resolvers.peer import GossipPeer


def peer(address):
    return GossipPeer(ipaddress.ip_address(address).packed, 8050)


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "169.253.0.1", "169.254.0.1", "169.254.255.255", "169.255.0.1"),
        *("::1", "fe7f::1", "fe80::1", "febf::1", "fec0::1", "2001:db8::1"),
    ],
)
def test_an_address_is_link_local_as_in_the_standard_library(address):
    assert peer(address).is_link_local == ipaddress.ip_address(address).is_link_local


@pytest.mark.parametrize(
    "address", ["223.255.255.255", "224.0.0.1", "239.255.255.255", "240.0.0.1", "::1", "fe80::1", "ff02::1"]
)
def test_a_multicast_address_is_not_one_host(address):
    assert peer(address).is_one_host == (not ipaddress.ip_address(address).is_multicast)


@pytest.mark.parametrize("address", ["255.255.255.255", "::ffff:255.255.255.255", "::ffff:224.0.0.1"])
def test_the_broadcast_address_and_mapped_addresses_of_groups_are_not_one_host(address):
    assert not peer(address).is_one_host


def test_a_mapped_address_of_a_host_is_one_host():
    assert peer("::ffff:10.0.0.1").is_one_host
