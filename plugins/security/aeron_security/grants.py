"""Grants of one socket's secret: which identities have it, and which of their sockets may still be there.

Invariant: an identity that was given a secret is remembered until that secret is replaced, whatever is forgotten of its
sockets. So a removal from the list always replaces what was given.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

#: A socket that exchanges datagrams takes part in a handshake each minute at least.
MAX_AGE_NS: Final = 90_000_000_000
#: Sockets of one identity that are remembered.
MAX_SOCKETS: Final = 64

#: The address of a socket; its salt, if several sockets may have that address.
_Place = tuple[str, int] | bytes


class Grants:
    """Grants of the current secret, and the sockets that shall be given it before it is used."""

    def __init__(self) -> None:
        # By identity and place, from the oldest on: the salt, and the time of the grant.
        self._granted: dict[bytes, dict[_Place, tuple[bytes, int]]] = {}
        # The salts of sockets that had the secret before, by identity and place.
        self._awaited: dict[bytes, dict[_Place, bytes]] = {}

    @property
    def is_delivered(self) -> bool:
        """Whether all sockets that had the previous secret have this one, or are not awaited any longer."""
        return not self._awaited

    def has_any(self, identities: Iterable[bytes]) -> bool:
        """Return whether one of the identities was given the secret."""
        return not self._granted.keys().isdisjoint(identities)

    def add(self, identity: bytes, salt: bytes, address: tuple[str, int] | None, now_ns: int) -> None:
        """Note a grant to the socket that seals with `salt`; another salt at its address has ended."""
        place = salt if address is None else address
        sockets = self._granted.setdefault(identity, {})
        sockets.pop(place, None)
        sockets[place] = salt, now_ns
        if len(sockets) > MAX_SOCKETS:
            del sockets[next(iter(sockets))]
        awaited = self._awaited.get(identity, {})
        # A socket with several addresses takes part with one of them; one that has rotated has another salt.
        for each in [each for each, before in awaited.items() if place == each or before == salt]:
            del awaited[each]
        if not awaited:
            self._awaited.pop(identity, None)

    def replace(self, now_ns: int) -> None:
        """Forget the grants of a secret that is replaced, and await the sockets that may still be there."""
        for identity, sockets in self._granted.items():
            alive = {place: salt for place, (salt, at_ns) in sockets.items() if now_ns - at_ns <= MAX_AGE_NS}
            if alive:
                self._awaited.setdefault(identity, {}).update(alive)
        self._granted = {}

    def await_only(self, identities: Container[bytes]) -> None:
        """Do not await the sockets of other identities."""
        self._awaited = {key: each for key, each in self._awaited.items() if key in identities}
