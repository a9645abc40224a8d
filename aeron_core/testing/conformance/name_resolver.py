"""What the conductor relies on in a name resolver."""

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
    """Subclass it as `Test…`; say how to make a resolver, and a name that it knows."""

    params = NameResolverParams()
    #: A host, or a name that stands for host and port, which the resolver knows.
    known_name = "localhost:20121"
    #: A host that nobody knows.
    unknown_host = "no-such-host.invalid"

    @abstractmethod
    def make(self, params: NameResolverParams) -> NameResolver:
        """Return a new resolver."""

    def test_a_name_that_is_known_ends_in_a_numeric_address_and_a_port(self) -> None:
        """First `lookup`, then `resolve`, as the driver asks."""
        resolver = self.make(self.params)
        for uri_key in _KEYS:
            for again in (False, True):
                address = parse_address(resolver.lookup(self.known_name, uri_key, again))
                host = resolver.resolve(address.host, uri_key, again)
                assert host is not None, f"{address.host!r} is not known"
                ipaddress.ip_address(host)

    def test_host_and_port_that_no_table_knows_stay_what_they_are(self) -> None:
        """Most channels name `host:port`, which is for `resolve`."""
        name = f"{self.unknown_host}:1234"
        assert self.make(self.params).lookup(name, "endpoint", False) == name

    def test_a_host_that_nobody_knows_is_none_and_no_exception(self) -> None:
        """The client is told the host, not what a resolver raised."""
        resolver = self.make(self.params)
        for host in (self.unknown_host, "", "a" * 300, "\udcff"):
            found = resolver.resolve(host, "endpoint", False)
            assert found is None or ipaddress.ip_address(found), f"{host!r} became {found!r}"
        assert resolver.resolve(self.unknown_host, "endpoint", True) is None

    def test_several_threads_may_ask_at_once(self) -> None:
        """Each look-up has a thread of its own."""
        resolver = self.make(self.params)

        def ask(_: int) -> str:
            return resolver.lookup(self.known_name, "endpoint", False)

        with ThreadPoolExecutor(_THREADS) as threads:
            assert len(set(threads.map(ask, range(10 * _THREADS)))) == 1
