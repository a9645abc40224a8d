"""Handshakes of one socket: datagrams in, datagrams and grants out, without socket and clock.

An initiator answers a cookie with a first, and a second with a third; a responder answers a first with a second. What
the agent passed on has a right token or cookie. Source: docs/wire/secure-udp.md.
Invariant: nothing is admitted before its peer has proved an identity that is in the list now.
"""

from __future__ import annotations

import copy
import hmac
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag

from aeron_core.errors import ProtocolError
from aeron_security import noise
from aeron_security.budgets import Budget, source_of
from aeron_security.grants import Grants
from aeron_security.identity_files import AllowedPeer
from aeron_security.noise import Noise

COOKIE, FIRST, SECOND, THIRD = range(4, 8)
PROLOGUE: Final = b"aeron-core secure udp identities 1"
MAX_PENDING: Final = 256
MAX_AGE_NS: Final = 5_000_000_000
#: Handshakes that are begun, and those that are answered, in a second: of all sources, and of each.
MAX_IN_SECOND: Final = 256
MAX_OF_SOURCE_IN_SECOND: Final = 64
#: Firsts that fail, and cookies of no peer. A first of garbage takes 0.1 ms; peers cause none of them.
MAX_FAILED_IN_SECOND: Final = 512
MAX_FAILED_OF_SOURCE_IN_SECOND: Final = 8
#: Comparisons of hints in a second, each of 2 us, and cookies that are compared in any case.
MAX_HINTS_IN_SECOND: Final = 1 << 16
MIN_COOKIES_IN_SECOND: Final = 64
#: Sources that have completed a handshake, and need not compete with strangers; and the same of their sockets.
MAX_KNOWN: Final = 1024
#: What such a socket may cause in a second when others have used up the limits of its source.
MAX_KNOWN_OF_SOCKET_IN_SECOND: Final = 4
_THIRD_NONCE: Final = bytes(12)


class HandshakeRefusedError(ProtocolError):
    """A datagram is refused for `reason`: `identity`, `handshake` or `busy`.

    `public_key` is the one that the peer says is its own, empty if it does not say so in this datagram.
    """

    def __init__(self, reason: str, public_key: bytes = b"") -> None:
        super().__init__(reason)
        self.reason, self.public_key = reason, public_key


class Grant(NamedTuple):
    """What an endpoint grants: its secret, 32 bytes, and the number of the last datagram that it has sealed with it.

    All secrets of an endpoint have one `line`, a random number of 64 bits; each has a greater `generation` than the one
    that it replaces.
    """

    secret: bytes
    number: int
    line: int = 0
    generation: int = 0

    def encode(self) -> bytes:
        """Return the 56 bytes of a handshake."""
        return _GRANT.pack(*self)

    @classmethod
    def decode(cls, data: bytes) -> Grant:
        """Return what `encode` made; raise struct.error for another length."""
        return cls(*_GRANT.unpack(data))


_GRANT: Final = struct.Struct("<32sQQQ")


@dataclass(frozen=True, slots=True)
class Host:
    """What the handshakes need of their socket.

    `grant` returns the current secret, None for a moment in which it changes. `admit` takes the identity that granted a
    secret, its grant, and the time at the begin of the handshake. `fresh` returns 8 random bytes.
    """

    private_key: bytes = field(repr=False)
    public_key: bytes
    cipher: int
    role: int
    grant: Callable[[], Grant | None]
    admit: Callable[[AllowedPeer, Grant, int], None]
    fresh: Callable[[], bytes]


@dataclass(slots=True)
class _OpenHandshake:
    noise: Noise
    peer: AllowedPeer
    own_salt: bytes
    began_ns: int
    #: Message 1, or the whole second.
    message: bytes
    #: Of a responder: message 1.
    first: bytes = b""
    #: Of an initiator: the last cookie at each of its sockets, by number. A cookie is right from one address only.
    cookies: dict[int, bytes] = field(default_factory=dict)


class _Arrival(NamedTuple):
    """Source, socket and time of a datagram."""

    host: str
    port: int | None
    number: int
    now_ns: int


class Handshakes:
    """All handshakes of one socket that have not ended. Used by the conductor only."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._peers: dict[bytes, AllowedPeer] = {}
        # By whether this socket is the initiator, the salt of the other one, and its host: another host, which has seen
        # the salt on the network, must not spoil the handshake.
        self._pending: dict[tuple[bool, bytes, str], _OpenHandshake] = {}
        # Firsts and cookies have separate budgets: a peer that one of them refuses can still connect by the other.
        self._begun = Budget(MAX_IN_SECOND, MAX_OF_SOURCE_IN_SECOND)
        self._answered = Budget(MAX_IN_SECOND, MAX_OF_SOURCE_IN_SECOND)
        self._failed = Budget(MAX_FAILED_IN_SECOND, MAX_FAILED_OF_SOURCE_IN_SECOND)
        self._hints = Budget(MAX_FAILED_IN_SECOND, MAX_FAILED_OF_SOURCE_IN_SECOND)
        self._known: dict[str, None] = {}
        self._known_sockets: dict[str, None] = {}
        # Other hosts of the network of a peer must not keep it from handshakes: one that was removed from its list
        # would go on in its name.
        self._reserve = Budget(MAX_IN_SECOND, MAX_KNOWN_OF_SOCKET_IN_SECOND)
        #: Of the current secret.
        self.grants = Grants()
        #: Calls of X25519, and handshakes that have ended well.
        self.agreements = 0
        self.completed = 0

    def set_peers(self, peers: dict[bytes, AllowedPeer]) -> None:
        """Allow these peers, by public key, and no others."""
        self._peers = peers
        cookies = max(MIN_COOKIES_IN_SECOND, MAX_HINTS_IN_SECOND // max(len(peers), 1))
        self._hints.total = min(MAX_FAILED_IN_SECOND, cookies)
        self._pending = {key: each for key, each in self._pending.items() if each.peer.public_key in peers}
        self.grants.await_only(peers)

    def replace_secret(self, now_ns: int) -> None:
        """Forget handshakes with a secret that is no longer granted; its peers are given the next one."""
        self._pending.clear()
        self.grants.replace(now_ns)

    def forget_old(self, now_ns: int) -> None:
        """Forget handshakes that did not end in time, and their keys."""
        for key in [key for key, each in self._pending.items() if now_ns - each.began_ns > MAX_AGE_NS]:
            del self._pending[key]

    def on_datagram(
        self, data: bytes, source_host: str, now_ns: int, number: int = 0, port: int | None = None
    ) -> bytes | None:
        """Return the answer to a datagram, if there is one. Raises HandshakeRefusedError.

        `number` is that of the socket, among several, that has received it and will send the answer. `port` is that of
        its source, None if several sockets of a host may have it.
        """
        arrival = _Arrival(source_host, port, number, now_ns)
        # Messages of a handshake that this socket has not begun cost nothing.
        key = (data[5] in (COOKIE, SECOND), data[8:24], source_host)
        pending = self._pending.get(key)
        if pending is not None and now_ns - pending.began_ns > MAX_AGE_NS:
            del self._pending[key]
            pending = None
        if data[5] in (SECOND, THIRD) and pending is None:
            return None
        source, completed = source_of(source_host), self.completed
        socket = f"{source_host} {port}"
        if not self._is_repeated(data, pending):
            self._check_limit(data[5], source, socket, now_ns)
        try:
            if data[5] == COOKIE:
                return self._on_cookie(data, pending, arrival)
            if data[5] == FIRST:
                return self._on_first(data, pending, arrival)
            if pending is None:
                return None
            answer: bytes | None = None
            if data[5] == SECOND:
                answer = self._on_second(data, pending, arrival)
            else:
                self._on_third(data, pending)
                del self._pending[key]
        except HandshakeRefusedError:
            self._count_failure(data[5], source)
            raise
        except (ProtocolError, InvalidTag):
            self._count_failure(data[5], source)
            raise HandshakeRefusedError("handshake") from None
        if self.completed > completed:
            _remember(self._known, source)
            _remember(self._known_sockets, socket)
        return answer

    def _is_repeated(self, data: bytes, pending: _OpenHandshake | None) -> bool:
        """Return whether no agreement is needed for a datagram."""
        if pending is None or pending.own_salt != data[24:40]:
            return False
        return data[5] in (COOKIE, THIRD) or (data[5] == FIRST and pending.first == data[72:])

    def _check_limit(self, kind: int, source: str, socket: str, now_ns: int) -> None:
        is_known = source in self._known
        answered, failed = (self._answered, self._failed) if kind == FIRST else (self._begun, self._hints)
        is_allowed = answered.allows(source, now_ns, is_known=is_known)
        if failed.allows(source, now_ns, is_known=is_known) and is_allowed:
            return
        if socket not in self._known_sockets or not self._reserve.allows(socket, now_ns):
            raise HandshakeRefusedError("busy")
        self._reserve.spend(socket)

    def _count_failure(self, kind: int, source: str) -> None:
        if kind == SECOND:
            self._begun.spend(source)
        elif kind in (FIRST, COOKIE):
            (self._failed if kind == FIRST else self._hints).spend(source)

    def _keep(self, key: tuple[bool, bytes, str], pending: _OpenHandshake) -> None:
        self._pending.pop(key, None)
        if len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._pending[key] = pending

    def _agree(self, private_key: bytes, public_key: bytes) -> bytes:
        self.agreements += 1
        return noise.agree(private_key, public_key)

    def _noise(self, responder_key: bytes, roles: tuple[int, int], salts: tuple[bytes, bytes]) -> Noise:
        prologue = PROLOGUE + bytes([self._host.cipher, *roles]) + b"".join(salts)
        return Noise(prologue, responder_key, self._agree)

    def _header(self, kind: int, own_salt: bytes, salt: bytes) -> bytes:
        return b"AeSU" + bytes([1, kind, self._host.role, self._host.cipher]) + own_salt + salt

    def _grant(self, peer: AllowedPeer, salt: bytes, arrival: _Arrival) -> bytes | None:
        found = self._host.grant()
        if found is None:
            return None
        address = None if arrival.port is None else (arrival.host, arrival.port)
        self.grants.add(peer.public_key, salt, address, arrival.now_ns)
        return found.encode()

    def _admit(self, pending: _OpenHandshake, grant: bytes) -> None:
        self._host.admit(pending.peer, Grant.decode(grant), pending.began_ns)
        self.completed += 1

    def _on_cookie(self, data: bytes, pending: _OpenHandshake | None, arrival: _Arrival) -> bytes:
        salt, own_salt = data[8:24], data[24:40]
        token, cookie, hint = data[40:56], data[56:72], data[72:80]
        if pending is None or pending.own_salt != own_salt:
            peer = self._peer_of(token, hint)
            self._begun.spend(source_of(arrival.host))
            pending = self._begin(peer, (own_salt, salt), data[6], arrival.now_ns)
            self._keep((True, salt, arrival.host), pending)
        pending.cookies[arrival.number] = cookie
        # The same message as before if a first or a second was lost, so that its keys are not computed again.
        return self._header(FIRST, own_salt, salt) + cookie + token + pending.message

    def _begin(self, peer: AllowedPeer, salts: tuple[bytes, bytes], role: int, now_ns: int) -> _OpenHandshake:
        """Return a handshake with a peer; one that has several addresses gets the same message 1 at all of them."""
        own_salt, salt = salts
        for (is_initiator, theirs, _), each in self._pending.items():
            if is_initiator and theirs == salt and each.peer == peer and each.own_salt == own_salt:
                return _OpenHandshake(each.noise, peer, own_salt, each.began_ns, each.message)
        state = self._noise(peer.public_key, (self._host.role, role), salts)
        message = state.write_first(
            noise.new_ephemeral(self._host.fresh), self._host.private_key, peer.public_key
        )
        return _OpenHandshake(state, peer, own_salt, now_ns, message)

    def _peer_of(self, token: bytes, hint: bytes) -> AllowedPeer:
        for peer in self._peers.values():
            if hmac.compare_digest(hmac.digest(peer.public_key, b"hint" + token, "sha256")[:8], hint):
                return peer
        raise HandshakeRefusedError("identity")

    def _on_first(self, data: bytes, pending: _OpenHandshake | None, arrival: _Arrival) -> bytes | None:
        salt, own_salt, token, message = data[8:24], data[24:40], data[56:72], data[72:]
        if pending is not None and self._is_repeated(data, pending):
            return self._header(SECOND, own_salt, salt) + token + pending.message
        state = self._noise(self._host.public_key, (data[6], self._host.role), (salt, own_salt))
        found: list[AllowedPeer] = []

        def check(static: bytes) -> None:
            if static not in self._peers:
                # Not proved: any stranger that knows our public key can send this.
                raise HandshakeRefusedError("identity", static)
            found.append(self._peers[static])

        state.read_first(message, self._host.private_key, check)
        self._answered.spend(source_of(arrival.host))
        grant = self._grant(found[0], salt, arrival)
        if grant is None:
            return None
        second = state.write_second(noise.new_ephemeral(self._host.fresh), grant)
        pending = _OpenHandshake(state, found[0], own_salt, arrival.now_ns, second, message)
        self._keep((False, salt, arrival.host), pending)
        return self._header(SECOND, own_salt, salt) + token + second

    def _on_second(self, data: bytes, pending: _OpenHandshake, arrival: _Arrival) -> bytes | None:
        salt = data[8:24]
        if arrival.number not in pending.cookies:
            # Of a group that several sockets have joined: the third must be sent by one that has a cookie.
            return None
        # A forged second must not spoil the state for the right one.
        state = copy.copy(pending.noise)
        theirs = state.read_second(data[56:])
        self._pending = {key: each for key, each in self._pending.items() if each.noise is not pending.noise}
        self._admit(pending, theirs)
        grant = self._grant(pending.peer, salt, arrival)
        if grant is None:
            return None
        freshness = self._host.fresh()
        head = self._header(THIRD, pending.own_salt, salt) + pending.cookies[arrival.number] + freshness
        return head + state.third(freshness).encrypt(_THIRD_NONCE, grant, state.h + head)

    def _on_third(self, data: bytes, pending: _OpenHandshake) -> None:
        head, freshness = data[:64], data[56:64]
        theirs = pending.noise.third(freshness).decrypt(_THIRD_NONCE, data[64:], pending.noise.h + head)
        self._admit(pending, theirs)


def _remember(known: dict[str, None], name: str) -> None:
    known.pop(name, None)
    known[name] = None
    if len(known) > MAX_KNOWN:
        del known[next(iter(known))]
