"""Budgets of a second: how much work strangers and peers may cause, of each source and in all.

A source is an IPv4 address or an IPv6 network of 64 bits, because a host usually has such a network for itself.
"""

from __future__ import annotations

import ipaddress
from typing import Final

_S: Final = 1_000_000_000


def source_of(host: str) -> str:
    """Return the source that a numeric host belongs to."""
    if ":" not in host:
        return host
    address = ipaddress.IPv6Address(host)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    # A link-local network has many hosts.
    return host if address.is_link_local else address.packed[:8].hex()


class Budget:
    """What may be spent in a second: `total`, and `of_source` by each source. Its memory is bounded by `total`."""

    def __init__(self, total: int, of_source: int) -> None:
        self.total = total
        self._of_source = of_source
        self._second = -1
        self._spent = 0
        self._by_source: dict[str, int] = {}

    def allows(self, source: str, now_ns: int, *, is_known: bool = False) -> bool:
        """Return whether a source may spend; one that is known may do so after others have spent the total."""
        if now_ns // _S != self._second:
            self._second, self._spent = now_ns // _S, 0
            self._by_source.clear()
        is_left = self._spent < self.total or is_known
        return is_left and self._by_source.get(source, 0) < self._of_source

    def spend(self, source: str) -> None:
        """Count one of a source."""
        self._spent += 1
        self._by_source[source] = self._by_source.get(source, 0) + 1
