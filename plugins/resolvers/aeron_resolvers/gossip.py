"""Gossip protocol of driver names, without socket, clock or threads.

Each driver sends its own name to all known peers, and the names it received from others. A driver that sends a packet
becomes a neighbour; so does a driver that another one names, until it times out.
Invariants: regardless of input, no table grows beyond its limit and no entry outlives its timeout; of two entries for
one name the more recent applies, so that old entries do not revert the address of a driver that has moved.
Source: aeron_driver_name_resolver.c, aeron_name_resolver_cache.c.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Final, NamedTuple

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame, decode_entries

# All four are invented: the reference has no limits. Gossip between all pairs does not scale to a thousand drivers; a
# host name has at most 253 bytes; a driver that joins a cluster of fifty learns all of them within one second.
MAX_NAMES: Final = 1024
MAX_NEIGHBORS: Final = 1024
MAX_NAME_LENGTH: Final = 255
MAX_INTRODUCTIONS_PER_S: Final = 256

_S_MS: Final = 1000


class GossipPeer(NamedTuple):
    """Address on which a driver listens for gossip."""

    packed: bytes  # 4 or 16 bytes in network order
    port: int
    scope_id: int = 0

    @classmethod
    def of(cls, address: SocketAddress) -> GossipPeer:
        """Return the peer at a socket address."""
        return cls(address.packed, address.port, address.scope_id)

    @property
    def family(self) -> int:
        """`socket.AF_INET` or `socket.AF_INET6`."""
        return socket.AF_INET if len(self.packed) == wire.RES_IP4_ADDRESS_LENGTH else socket.AF_INET6

    @property
    def is_wildcard(self) -> bool:
        """Whether the address is a wildcard: the driver listens on all interfaces."""
        return not any(self.packed)

    @property
    def host(self) -> str:
        """The address as text, with its scope if it has one."""
        scope = f"%{self.scope_id}" if self.scope_id else ""
        return socket.inet_ntop(self.family, self.packed) + scope

    def socket_address(self) -> SocketAddress:
        """Return the socket address."""
        return SocketAddress.of(socket.inet_ntop(self.family, self.packed), self.port, self.scope_id)


@frozen()
class GossipParams:
    """Identity and intervals of a driver; times are milliseconds, `mtu` is bytes."""

    name: str
    peer: GossipPeer
    mtu: int = 1408
    timeout_ms: int = 10_000
    self_interval_ms: int = 1_000
    neighbor_interval_ms: int = 2_000


class _KnownName(NamedTuple):
    peer: GossipPeer
    time_ms: int  # time of the last known packet from the named driver itself


class Gossip:
    """Names and neighbours known to one driver. One thread changes it; any thread can call `find`."""

    def __init__(self, params: GossipParams, now_ms: int) -> None:
        self._params = params
        self._place = params.peer
        self._names: dict[tuple[str, int], _KnownName] = {}
        self._neighbors: dict[GossipPeer, int] = {}
        self._self_deadline_ms = now_ms
        self._neighbor_deadline_ms = now_ms + params.neighbor_interval_ms
        self._introductions = 0
        self._introductions_since_ms = now_ms
        #: Number of entries refused by a limit.
        self.refused_count = 0
        #: Whether another driver uses the name of this one.
        self.has_namesake = False

    @property
    def name_count(self) -> int:
        """Number of known names."""
        return len(self._names)

    @property
    def neighbors(self) -> list[GossipPeer]:
        """Addresses of all neighbours."""
        return list(self._neighbors)

    def is_neighbor(self, peer: GossipPeer) -> bool:
        """Return whether a neighbour has this address."""
        return peer in self._neighbors

    def find(self, name: str) -> str | None:
        """Return the address of a known driver, IPv4 first, or of this one; None if the name is unknown."""
        for family in (socket.AF_INET, socket.AF_INET6):
            known = self._names.get((name, family))
            if known is not None:
                return known.peer.host
        return self._place.host if name == self._params.name else None

    def on_packet(self, packet: bytes, source: GossipPeer, now_ms: int) -> None:
        """Process a packet; raises ProtocolError at the first malformed entry, after processing those before it."""
        for entry in decode_entries(AtomicBuffer(packet), 0, len(packet)):
            self._on_entry(entry, source, now_ms)

    def _on_entry(self, entry: ResolutionEntry, source: GossipPeer, now_ms: int) -> None:
        peer = GossipPeer(entry.address, entry.udp_port)
        if peer.is_wildcard:
            if not entry.is_self:
                return  # passed on by a driver to which the address is unknown
            peer = source
        elif ipaddress.ip_address(peer.packed).is_link_local:
            peer = peer._replace(scope_id=source.scope_id)
        if entry.name == self._params.name:
            self.has_namesake |= entry.is_self and not self._is_own_address(peer)
            return
        if not _is_acceptable(entry, peer):
            raise ProtocolError(
                f"resolution of {entry.name[:MAX_NAME_LENGTH]!r} to {peer.host}:{peer.port}: must be a "
                f"name of 1 to {MAX_NAME_LENGTH} bytes, the address of one host, and a port"
            )
        # A negative age would put the time of the entry in the future and delay its timeout.
        age_ms = max(0, entry.age_ms)
        if age_ms >= self._params.timeout_ms:
            return
        self._update_name(entry.name, peer, now_ms - age_ms)
        if peer.family == self._place.family:
            self._update_neighbor(peer, now_ms - age_ms, now_ms, is_self=entry.is_self)

    def _is_own_address(self, peer: GossipPeer) -> bool:
        # If this driver listens on a wildcard address, it has no address to compare: the port decides.
        return peer.port == self._place.port and (
            self._place.is_wildcard or peer.packed == self._place.packed
        )

    def _update_name(self, name: str, peer: GossipPeer, time_ms: int) -> None:
        key = (name, peer.family)
        known = self._names.get(key)
        if known is None and len(self._names) >= MAX_NAMES:
            self.refused_count += 1
        elif known is None or known.time_ms <= time_ms:
            self._names[key] = _KnownName(peer, time_ms)

    def _update_neighbor(self, peer: GossipPeer, time_ms: int, now_ms: int, *, is_self: bool) -> None:
        if peer in self._neighbors:
            if is_self:
                self._neighbors[peer] = time_ms
        elif len(self._neighbors) >= MAX_NEIGHBORS or not (is_self or self._may_introduce(now_ms)):
            self.refused_count += 1
        else:
            self._neighbors[peer] = time_ms

    def _may_introduce(self, now_ms: int) -> bool:
        # One forged packet could otherwise make this driver send to all addresses in it.
        if now_ms - self._introductions_since_ms >= _S_MS:
            self._introductions_since_ms = now_ms
            self._introductions = 0
        self._introductions += 1
        return self._introductions <= MAX_INTRODUCTIONS_PER_S

    def remove_silent(self, now_ms: int) -> int:
        """Remove names and neighbours that timed out; return how many."""
        oldest_ms = now_ms - self._params.timeout_ms
        names = [key for key, known in self._names.items() if known.time_ms <= oldest_ms]
        neighbors = [peer for peer, time_ms in self._neighbors.items() if time_ms <= oldest_ms]
        for key in names:
            del self._names[key]
        for peer in neighbors:
            del self._neighbors[peer]
        return len(names) + len(neighbors)

    def is_self_due(self, now_ms: int) -> bool:
        """Return whether to send the own name now; restart the interval if so."""
        if now_ms < self._self_deadline_ms:
            return False
        self._self_deadline_ms = now_ms + self._params.self_interval_ms
        return True

    def is_neighbor_due(self, now_ms: int) -> bool:
        """Return whether to send the names of others now; restart the interval if so."""
        if now_ms < self._neighbor_deadline_ms:
            return False
        self._neighbor_deadline_ms = now_ms + self._params.neighbor_interval_ms
        return True

    def self_packet(self) -> bytes:
        """Return the packet with the own name."""
        peer = self._place
        entry = ResolutionEntry(self._params.name, peer.packed, peer.port, flags=wire.RES_FLAG_SELF)
        return _encode([entry])

    def neighbor_packets(self, now_ms: int) -> Iterator[bytes]:
        """Yield packets of at most `mtu` bytes with the names of all others."""
        entries: list[ResolutionEntry] = []
        length = wire.RES_ENTRIES_OFFSET
        for (name, _), known in self._names.items():
            peer = known.peer
            entry = ResolutionEntry(name, peer.packed, peer.port, max(0, now_ms - known.time_ms))
            if entries and length + entry.encoded_length > self._params.mtu:
                yield _encode(entries)
                entries, length = [], wire.RES_ENTRIES_OFFSET
            entries.append(entry)
            length += entry.encoded_length
        if entries:
            yield _encode(entries)


def name_length(name: str) -> int:
    """Return the length in bytes of a name in a packet."""
    return len(name.encode("utf-8", "surrogateescape"))


def _is_acceptable(entry: ResolutionEntry, peer: GossipPeer) -> bool:
    address = ipaddress.ip_address(peer.packed)
    is_one_host = not (address.is_multicast or address == ipaddress.IPv4Address("255.255.255.255"))
    return is_one_host and peer.port != 0 and 0 < name_length(entry.name) <= MAX_NAME_LENGTH


def _encode(entries: list[ResolutionEntry]) -> bytes:
    length = wire.RES_ENTRIES_OFFSET + sum(entry.encoded_length for entry in entries)
    buffer = AtomicBuffer.allocate(length)
    ResolutionFrame(tuple(entries)).encode(buffer, 0)
    return buffer.get_bytes(0, length)
