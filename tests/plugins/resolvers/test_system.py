import ipaddress

import pytest
from aeron_resolvers.system import SystemNameResolver

from aeron_core.spi import NameResolverParams


@pytest.fixture
def resolver():
    return SystemNameResolver(NameResolverParams())


def test_lookup_returns_the_name(resolver):
    assert resolver.lookup("service:1", "endpoint", False) == "service:1"


def test_ipv4_comes_first(resolver):
    assert ipaddress.ip_address(resolver.resolve("localhost", "endpoint", False)) == ipaddress.ip_address(
        "127.0.0.1"
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_resolves_to_itself(resolver, address):
    assert resolver.resolve(address, "endpoint", False) == address


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64])
def test_an_unknown_host_resolves_to_none(resolver, host):
    assert resolver.resolve(host, "endpoint", True) is None
