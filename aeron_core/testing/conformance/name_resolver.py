"""Conformance tests of name resolvers: the properties that the conductor relies on."""

from __future__ import annotations

import ipaddress
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aeron_core.spi.name_resolver import NameResolver, NameResolverParams
from aeron_core.uri.addresses import parse_address

_THREADS: Final = 4
_KEYS: Final = ("endpoint", "control", "interface")


class NameResolverConformance(ABC):
    """Suite for a name resolver: subclass as `Test…` and override `make` and `known_name`."""

    params = NameResolverParams()
    #: A name that the resolver resolves: host and port, or a name for both.
    known_name = "localhost:20121"
    #: A host that no resolver resolves.
    unknown_host = "no-such-host.invalid"

    @abstractmethod
    def make(self, params: NameResolverParams) -> NameResolver:
        """Return a new resolver."""

    def test_a_known_name_resolves_to_a_numeric_address_and_a_port(self) -> None:
        """The driver calls `lookup`, then `resolve`."""
        resolver = self.make(self.params)
        for uri_key in _KEYS:
            for again in (False, True):
                address = parse_address(resolver.lookup(self.known_name, uri_key, again))
                host = resolver.resolve(address.host, uri_key, again)
                assert host is not None, f"{address.host!r} is unknown"
                ipaddress.ip_address(host)

    def test_lookup_returns_an_unknown_host_and_port_unchanged(self) -> None:
        """Most channels contain `host:port`, which only `resolve` translates."""
        name = f"{self.unknown_host}:1234"
        assert self.make(self.params).lookup(name, "endpoint", False) == name

    def test_an_unknown_host_resolves_to_none(self) -> None:
        """The resolver raises no exception for any host: the driver reports an unknown one to the client."""
        resolver = self.make(self.params)
        for host in (self.unknown_host, "", "a" * 300, "\udcff"):
            found = resolver.resolve(host, "endpoint", False)
            assert found is None or ipaddress.ip_address(found), f"{host!r} became {found!r}"
        assert resolver.resolve(self.unknown_host, "endpoint", True) is None

    def test_several_threads_may_look_up_at_once(self) -> None:
        """Lookups may run on several helper threads at once."""
        resolver = self.make(self.params)

        def ask(_: int) -> str:
            return resolver.lookup(self.known_name, "endpoint", False)

        with ThreadPoolExecutor(_THREADS) as threads:
            assert len(set(threads.map(ask, range(10 * _THREADS)))) == 1
