"""What drivers tell one another about names, without socket, clock or threads.

Each driver tells its own name to those it knows, and what it has heard of others. Whoever speaks is a neighbour; so is,
until that proves wrong, whoever another speaks of.
Invariants: whatever comes from the network, no table grows beyond its limit and no entry outlives its timeout; of two
statements about one name the fresher one counts, so that a driver that has moved is not moved back by old news.
Source: aeron_driver_name_resolver.c, aeron_name_resolver_cache.c.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame, decode_entries

# Invented, all four: the reference has no limits. A thousand drivers are beyond any real cluster that gossips, for
# each tells each; a host name has at most 253 bytes; who joins a cluster of fifty learns all of them in one second.
MAX_NAMES: Final = 1024
MAX_NEIGHBORS: Final = 1024
MAX_NAME_LENGTH: Final = 255
MAX_INTRODUCTIONS_PER_S: Final = 256

_S_MS: Final = 1000


class Place(NamedTuple):
    """Where a driver listens for gossip."""

    packed: bytes  # 4 or 16 bytes in network order
    port: int
    scope_id: int = 0

    @classmethod
    def of(cls, address: SocketAddress) -> Place:
        """Return the place of a socket address."""
        return cls(address.packed, address.port, address.scope_id)

    @property
    def family(self) -> int:
        """`socket.AF_INET` or `socket.AF_INET6`."""
        return socket.AF_INET if len(self.packed) == wire.RES_IP4_ADDRESS_LENGTH else socket.AF_INET6

    @property
    def is_wildcard(self) -> bool:
        """Whether the address says only that the driver listens everywhere."""
        return not any(self.packed)

    @property
    def host(self) -> str:
        """The address as text, with its scope where it has one."""
        scope = f"%{self.scope_id}" if self.scope_id else ""
        return socket.inet_ntop(self.family, self.packed) + scope

    def socket_address(self) -> SocketAddress:
        """Return what sockets take."""
        return SocketAddress.of(socket.inet_ntop(self.family, self.packed), self.port, self.scope_id)


@dataclass(frozen=True)
class GossipParams:
    """Who gossips, and how often; times are milliseconds, `mtu` is bytes."""

    name: str
    place: Place
    mtu: int = 1408
    timeout_ms: int = 10_000
    self_interval_ms: int = 1_000
    neighbor_interval_ms: int = 2_000


class _Heard(NamedTuple):
    place: Place
    time_ms: int  # when the named driver itself last spoke, as far as is known


class Gossip:
    """The names and neighbours of one driver. One thread changes it; any may call `find`."""

    def __init__(self, params: GossipParams, now_ms: int) -> None:
        self._params = params
        self._place = params.place
        self._names: dict[tuple[str, int], _Heard] = {}
        self._neighbors: dict[Place, int] = {}
        self._self_deadline_ms = now_ms
        self._neighbor_deadline_ms = now_ms + params.neighbor_interval_ms
        self._introductions = 0
        self._introductions_since_ms = now_ms
        #: Entries that a limit kept out.
        self.refused_count = 0
        #: Whether somebody else was heard to call itself by our name.
        self.has_namesake = False

    @property
    def name_count(self) -> int:
        """How many names are known."""
        return len(self._names)

    @property
    def neighbors(self) -> list[Place]:
        """Where neighbours are."""
        return list(self._neighbors)

    def is_neighbor(self, place: Place) -> bool:
        """Return whether somebody is known to be there."""
        return place in self._neighbors

    def find(self, name: str) -> str | None:
        """Return the address of a driver that was heard of, IPv4 first, or our own."""
        for family in (socket.AF_INET, socket.AF_INET6):
            heard = self._names.get((name, family))
            if heard is not None:
                return heard.place.host
        return self._place.host if name == self._params.name else None

    def on_packet(self, packet: bytes, source: Place, now_ms: int) -> None:
        """Take what a neighbour says; ProtocolError for what cannot be read, after what could."""
        for entry in decode_entries(AtomicBuffer(packet), 0, len(packet)):
            self._on_entry(entry, source, now_ms)

    def _on_entry(self, entry: ResolutionEntry, source: Place, now_ms: int) -> None:
        place = Place(entry.address, entry.udp_port)
        if place.is_wildcard:
            if not entry.is_self:
                return  # who passed it on knew no more than we do
            place = source
        elif ipaddress.ip_address(place.packed).is_link_local:
            place = place._replace(scope_id=source.scope_id)
        if entry.name == self._params.name:
            self.has_namesake |= entry.is_self and not self._is_here(place)
            return
        if not _is_acceptable(entry, place):
            raise ProtocolError(
                f"resolution of {entry.name[:MAX_NAME_LENGTH]!r} to {place.host}:{place.port}"
            )
        # A time to come would never time out; what is too old is as if never said.
        age_ms = max(0, entry.age_ms)
        if age_ms >= self._params.timeout_ms:
            return
        self._hear_of(entry.name, place, now_ms - age_ms)
        if place.family == self._place.family:
            self._meet(place, now_ms - age_ms, now_ms, is_self=entry.is_self)

    def _is_here(self, place: Place) -> bool:
        # Of a wildcard nobody knows by which address others see it.
        return place.port == self._place.port and (
            self._place.is_wildcard or place.packed == self._place.packed
        )

    def _hear_of(self, name: str, place: Place, time_ms: int) -> None:
        key = (name, place.family)
        known = self._names.get(key)
        if known is None and len(self._names) >= MAX_NAMES:
            self.refused_count += 1
        elif known is None or known.time_ms <= time_ms:
            self._names[key] = _Heard(place, time_ms)

    def _meet(self, place: Place, time_ms: int, now_ms: int, *, is_self: bool) -> None:
        if place in self._neighbors:
            if is_self:
                self._neighbors[place] = time_ms
        elif len(self._neighbors) >= MAX_NEIGHBORS or not (is_self or self._may_introduce(now_ms)):
            self.refused_count += 1
        else:
            self._neighbors[place] = time_ms

    def _may_introduce(self, now_ms: int) -> bool:
        # Whoever forges one packet could have us send to all the addresses that it names.
        if now_ms - self._introductions_since_ms >= _S_MS:
            self._introductions_since_ms = now_ms
            self._introductions = 0
        self._introductions += 1
        return self._introductions <= MAX_INTRODUCTIONS_PER_S

    def forget_silent(self, now_ms: int) -> int:
        """Forget names and neighbours that were not heard of in time; return how many."""
        oldest_ms = now_ms - self._params.timeout_ms
        names = [key for key, heard in self._names.items() if heard.time_ms <= oldest_ms]
        neighbors = [place for place, time_ms in self._neighbors.items() if time_ms <= oldest_ms]
        for key in names:
            del self._names[key]
        for place in neighbors:
            del self._neighbors[place]
        return len(names) + len(neighbors)

    def is_self_due(self, now_ms: int) -> bool:
        """Return whether it is time to tell our own name, and count from now again."""
        if now_ms < self._self_deadline_ms:
            return False
        self._self_deadline_ms = now_ms + self._params.self_interval_ms
        return True

    def is_neighbor_due(self, now_ms: int) -> bool:
        """Return whether it is time to tell what others said, and count from now again."""
        if now_ms < self._neighbor_deadline_ms:
            return False
        self._neighbor_deadline_ms = now_ms + self._params.neighbor_interval_ms
        return True

    def self_packet(self) -> bytes:
        """Return the packet that tells our own name."""
        place = self._place
        entry = ResolutionEntry(self._params.name, place.packed, place.port, flags=wire.RES_FLAG_SELF)
        return _encode([entry])

    def neighbor_packets(self, now_ms: int) -> Iterator[bytes]:
        """Yield packets of at most `mtu` bytes that tell all that is known of others."""
        entries: list[ResolutionEntry] = []
        length = wire.RES_ENTRIES_OFFSET
        for (name, _), heard in self._names.items():
            place = heard.place
            entry = ResolutionEntry(name, place.packed, place.port, max(0, now_ms - heard.time_ms))
            if entries and length + entry.encoded_length > self._params.mtu:
                yield _encode(entries)
                entries, length = [], wire.RES_ENTRIES_OFFSET
            entries.append(entry)
            length += entry.encoded_length
        if entries:
            yield _encode(entries)


def name_length(name: str) -> int:
    """Return the bytes of a name in a packet."""
    return len(name.encode("utf-8", "surrogateescape"))


def _is_acceptable(entry: ResolutionEntry, place: Place) -> bool:
    address = ipaddress.ip_address(place.packed)
    is_one_host = not (address.is_multicast or address == ipaddress.IPv4Address("255.255.255.255"))
    return is_one_host and place.port != 0 and 0 < name_length(entry.name) <= MAX_NAME_LENGTH


def _encode(entries: list[ResolutionEntry]) -> bytes:
    length = wire.RES_ENTRIES_OFFSET + sum(entry.encoded_length for entry in entries)
    buffer = AtomicBuffer.allocate(length)
    ResolutionFrame(tuple(entries)).encode(buffer, 0)
    return buffer.get_bytes(0, length)
