"""Gossip protocol of driver names, without socket, clock or threads.

Each driver sends its own name to all neighbours, and the names it received from others. A driver that sends a packet
or that another one names becomes a neighbour when it has answered (neighbors).
Invariants: regardless of input, no table grows beyond its limit and no entry outlives its timeout; of two entries for
one name the more recent applies, so that old entries do not revert the address of a driver that has moved.
Source: aeron_driver_name_resolver.c, aeron_name_resolver_cache.c.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.errors import ProtocolError
from aeron_core.frozen import frozen
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame, decode_entries
from aeron_resolvers.neighbors import Neighbors
from aeron_resolvers.peer import GossipPeer

# Both are invented: the reference has no limits. Gossip between all pairs of drivers does not scale to so many names; a
# host name has at most 253 bytes.
MAX_NAMES: Final = 1024
MAX_NAME_LENGTH: Final = 255
#: Maximum length of a sent packet, even if the MTU is longer: the default MTU, which bounds the time of an encoding.
MAX_PACKET_LENGTH: Final = 1408


@frozen()
class GossipParams:
    """Identity and intervals of a driver; times are milliseconds, `mtu` is bytes."""

    name: str
    peer: GossipPeer
    mtu: int = 1408
    timeout_ms: int = 10_000
    self_interval_ms: int = 1_000
    neighbor_interval_ms: int = 2_000


#: Name and address family; a driver may have an address of each family.
NameKey = tuple[str, int]


class _KnownName(NamedTuple):
    peer: GossipPeer
    time_ms: int  # time of the last known packet from the named driver itself
    is_proven: bool  # whether a neighbour has sent it from this address


class Gossip:
    """Names and neighbours of one driver. One thread uses it; any thread can call `find`."""

    def __init__(self, params: GossipParams, now_ms: int) -> None:
        self._params = params
        self._own_peer = params.peer
        self._names: dict[NameKey, _KnownName] = {}
        self._self_deadline_ms = now_ms
        self._neighbor_deadline_ms = now_ms + params.neighbor_interval_ms
        self._refused_names = 0
        #: The packet with the own name; it never changes.
        self.self_packet: Final = _encode(
            [ResolutionEntry(params.name, params.peer.packed, params.peer.port, flags=wire.RES_FLAG_SELF)]
        )
        self.neighbors: Final = Neighbors(
            len(self.self_packet), params.timeout_ms, params.self_interval_ms, now_ms
        )
        #: Source of the last packet of another driver with the name of this one; the code that reports it resets it.
        self.namesake: GossipPeer | None = None

    @property
    def name_count(self) -> int:
        """Number of known names; one with an IPv4 and an IPv6 address counts twice."""
        return len(self._names)

    @property
    def refused_count(self) -> int:
        """Number of names and drivers refused, or removed for others, because of a limit since the start."""
        return self._refused_names + self.neighbors.refused_count

    def find(self, name: str) -> str | None:
        """Return the address of a known driver, IPv4 first, or of this one; None if the name is unknown."""
        for family in (socket.AF_INET, socket.AF_INET6):
            known = self._names.get((name, family))
            if known is not None:
                return known.peer.host
        return self._own_peer.host if name == self._params.name else None

    def on_packet(self, packet: bytes, source: GossipPeer, now_ms: int) -> None:
        """Process a packet; raises ProtocolError at the first malformed entry, after processing those before it."""
        for _ in self.entries_processed(packet, source, now_ms):
            pass

    def entries_processed(self, packet: bytes, source: GossipPeer, now_ms: int) -> Iterator[None]:
        """Process one entry of a packet per step and yield None after it; raises ProtocolError as `on_packet`."""
        # The lengths of the headers are added to that of the first entry.
        length = wire.RES_ENTRIES_OFFSET + source.headers_length
        for entry in decode_entries(AtomicBuffer(packet), 0, len(packet)):
            self._on_entry(entry, source, length + entry.encoded_length, now_ms)
            length = 0
            yield

    def _on_entry(self, entry: ResolutionEntry, source: GossipPeer, length: int, now_ms: int) -> None:
        peer = GossipPeer(entry.address, entry.udp_port)
        if peer.is_wildcard:
            if not entry.is_self:
                return  # passed on by a driver to which the address is unknown
            peer = source
        elif peer.is_link_local:
            peer = peer._replace(scope_id=source.scope_id)
        if entry.name == self._params.name:
            if entry.is_self and not self._is_own_address(peer):
                self.namesake = source
            return
        if not _is_acceptable(entry, peer):
            # The error log gets this text: it must not contain anything that the sender of the packet has chosen.
            raise ProtocolError(
                f"resolution entry with an impossible name or address: must have a name of 1 to {MAX_NAME_LENGTH} "
                f"bytes, the address of one host, and a port from 1 to 65535"
            )
        # With a negative age, the time of the entry would be in the future, and its timeout delayed.
        age_ms = max(0, entry.age_ms)
        if age_ms >= self._params.timeout_ms:
            return
        # A packet can prove only its source address: an entry with any other address is unproven, even with the flag.
        is_direct = entry.is_self and peer == source
        if peer.family == self._own_peer.family:
            if is_direct:
                self.neighbors.on_self(peer, length, now_ms - age_ms, now_ms)
            else:
                self.neighbors.on_introduction(peer, length, now_ms)
        self._update_name(entry.name, peer, now_ms - age_ms, is_proven=is_direct and peer in self.neighbors)

    def _is_own_address(self, peer: GossipPeer) -> bool:
        # If this driver listens on a wildcard address, there is no address to compare, only the port.
        return peer.port == self._own_peer.port and (
            self._own_peer.is_wildcard or peer.packed == self._own_peer.packed
        )

    def _update_name(self, name: str, peer: GossipPeer, time_ms: int, *, is_proven: bool) -> None:
        key = (name, peer.family)
        known = self._names.get(key)
        if known is None and len(self._names) >= MAX_NAMES:
            self._refused_names += 1
            if not is_proven or not self._remove_unproven():
                return
        if known is None or known.time_ms <= time_ms:
            was_proven = known is not None and known.is_proven and known.peer == peer
            self._names[key] = _KnownName(peer, time_ms, is_proven or was_proven)

    def _remove_unproven(self) -> bool:
        # The names of neighbours have priority, so that forged names do not keep them out of a full table.
        key = next((key for key, known in self._names.items() if not known.is_proven), None)
        if key is not None:
            del self._names[key]
        return key is not None

    def remove_silent(self, now_ms: int) -> int:
        """Remove names, neighbours and candidates that timed out; return how many."""
        oldest_ms = now_ms - self._params.timeout_ms
        names = [key for key, known in self._names.items() if known.time_ms <= oldest_ms]
        for key in names:
            del self._names[key]
        return len(names) + self.neighbors.remove_silent(now_ms)

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

    def names(self) -> deque[NameKey]:
        """Return the keys of all names for `take_packet`, those of neighbours first."""
        return deque(sorted(self._names, key=lambda key: not self._names[key].is_proven))

    def take_packet(self, names: deque[NameKey], now_ms: int) -> bytes:
        """Remove as many of `names` as fit into one packet, and return it; b"" if none of them is known any more.

        The packet has at most `mtu` and MAX_PACKET_LENGTH bytes, unless a single name is longer.
        """
        max_length = min(self._params.mtu, MAX_PACKET_LENGTH)
        entries: list[ResolutionEntry] = []
        length = wire.RES_ENTRIES_OFFSET
        while names:
            known = self._names.get(names[0])
            if known is not None:
                peer = known.peer
                entry = ResolutionEntry(names[0][0], peer.packed, peer.port, max(0, now_ms - known.time_ms))
                length += entry.encoded_length
                if entries and length > max_length:
                    break
                entries.append(entry)
            names.popleft()
        return _encode(entries) if entries else b""


def name_length(name: str) -> int:
    """Return the length in bytes of a name in a packet."""
    return len(name.encode("utf-8", "surrogateescape"))


def _is_acceptable(entry: ResolutionEntry, peer: GossipPeer) -> bool:
    return peer.is_one_host and peer.port != 0 and 0 < name_length(entry.name) <= MAX_NAME_LENGTH


def _encode(entries: list[ResolutionEntry]) -> bytes:
    length = wire.RES_ENTRIES_OFFSET + sum(entry.encoded_length for entry in entries)
    buffer = AtomicBuffer.allocate(length)
    ResolutionFrame(tuple(entries)).encode(buffer, 0)
    return buffer.get_bytes(0, length)
