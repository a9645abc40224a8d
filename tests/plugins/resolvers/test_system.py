import ipaddress

import pytest
from aeron_resolvers.system import SystemNameResolver

from aeron_core.spi import NameResolverParams


@pytest.fixture
def resolver():
    return SystemNameResolver(NameResolverParams())


def test_a_name_stands_for_itself(resolver):
    assert resolver.lookup("service:1", "endpoint", False) == "service:1"


def test_ipv4_comes_first(resolver):
    assert ipaddress.ip_address(resolver.resolve("localhost", "endpoint", False)) == ipaddress.ip_address(
        "127.0.0.1"
    )


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_is_its_own(resolver, address):
    assert resolver.resolve(address, "endpoint", False) == address


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64])
def test_a_host_that_nobody_knows_is_none(resolver, host):
    assert resolver.resolve(host, "endpoint", True) is None
