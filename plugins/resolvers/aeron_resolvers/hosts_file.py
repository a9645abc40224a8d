"""The hosts file of the operating system, for names that need no DNS."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final

HOSTS: Final = Path("/etc/hosts")
NAME_SERVICES: Final = Path("/etc/nsswitch.conf")


class HostsFile:
    """IPv4 addresses of the hosts file, if `getaddrinfo` reads it before all other services. Used by one thread.

    If another service comes first in nsswitch.conf, it finds nothing. The file is read again when it has changed.

    Source: hosts(5), nsswitch.conf(5).
    """

    def __init__(self, hosts: Path = HOSTS, name_services: Path = NAME_SERVICES) -> None:
        self._path = hosts
        self._is_first = _is_first_service(name_services)
        self._state: tuple[int, int, int] | None = None
        self._entries: dict[str, set[str]] = {}

    def find(self, host: str) -> str | None:
        """Return the IPv4 address of `host`, ignoring case; None if it has none, or several.

        The operating system chooses one of several by the rules of RFC 6724, which are not implemented here.
        """
        if not self._is_first:
            return None
        self._read_if_changed()
        addresses = self._entries.get(host.lower(), ())
        return next(iter(addresses)) if len(addresses) == 1 else None

    def _read_if_changed(self) -> None:
        try:
            status = self._path.stat()
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            if state != self._state:
                self._entries = _parse(self._path.read_text(encoding="utf-8", errors="replace"))
                self._state = state
        except OSError:
            self._entries, self._state = {}, None


def _is_first_service(path: Path) -> bool:
    """Return whether the operating system looks names up in the hosts file before all other services."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        # Without the file, glibc 2.33 and later use `files dns`; musl has no such file, and reads the hosts file first.
        return True
    for line in lines:
        database, _, services = line.partition("#")[0].partition(":")
        if database.strip() == "hosts":
            return services.split()[:1] == ["files"]
    return True


def _parse(text: str) -> dict[str, set[str]]:
    """Return the IPv4 addresses of each name in lower case."""
    entries: dict[str, set[str]] = {}
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        try:
            ipaddress.IPv4Address(address)
        except ValueError:
            continue  # an empty line, an IPv6 address, or a line that the operating system ignores too
        for name in names:
            entries.setdefault(name.lower(), set()).add(address)
    return entries
