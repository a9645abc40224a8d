"""System resolver: hosts file and DNS of the operating system."""

from __future__ import annotations

import socket
from typing import Final

from aeron_core.spi.name_resolver import NameResolverParams
from aeron_resolvers.hosts_file import HostsFile

#: IPv4 before IPv6, as in the reference.
FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


def find_address(host: str, families: tuple[int, ...] = FAMILIES) -> str | None:
    """Return a numeric address of `host` in the first of `families` that has one, else None; may block on DNS."""
    for family in families:
        try:
            found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
        except (socket.gaierror, UnicodeError):
            continue  # unknown, or not a valid DNS name
        if found:
            return str(found[0][4][0])
    return None


class SystemNameResolver:
    """Resolver of hosts by the operating system; prefers IPv4, as the reference does."""

    def __init__(self, params: NameResolverParams, hosts: HostsFile | None = None) -> None:
        self._params = params
        self._hosts = hosts or HostsFile()

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return `name` unchanged, because the operating system has no names for `host:port`."""
        return name

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return a numeric address of `host`, IPv4 if it has one, or None if it is unknown; may block on DNS."""
        return find_address(host)

    def resolve_promptly(self, host: str) -> str | None:
        """Return the IPv4 address of `host` in the hosts file, as `HostsFile.find`; on the conductor."""
        return self._hosts.find(host)
