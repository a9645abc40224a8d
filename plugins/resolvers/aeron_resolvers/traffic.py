"""Packets of gossip to and from the network, a limited number in each duty cycle of the conductor.

While the conductor works, commands wait, and in the threading mode SHARED streams too. Therefore a burst of packets, or
a table full of forged names, is processed in several cycles.
Not here: the meaning of packets (gossip) and the table of peers (neighbors).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ProtocolError
from aeron_resolvers.gossip import Gossip, NameKey
from aeron_resolvers.peer import GossipPeer

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core.spi.name_resolver import NameResolverContext
    from aeron_resolvers.packets import PacketChannel

# Invented; the reference receives one packet per cycle, too few for a hundred neighbours.
_PACKETS_PER_CYCLE: Final = 64
# Invented: about 6 ms of processing. In a cluster of n drivers, each receives all names from all others every 2 s,
# which is n * n / 2 entries a second, so this suffices for three hundred drivers.
_ENTRIES_PER_CYCLE: Final = 512
# Invented: far less than the interval in which names are sent. A packet has the ages of its names. If it waited long,
# they would be younger at each driver that passes them on, and those of drivers that have closed would not time out.
_MAX_PACKET_AGE_MS: Final = 100


class GossipReceiver:
    """Receiver of gossip: takes packets from the channel and applies their entries; used by the conductor."""

    def __init__(self, channel: PacketChannel, context: NameResolverContext) -> None:
        self._channel = channel
        self._context = context
        #: What was wrong with the last malformed packet, and its source; the code that reports it resets it.
        self.fault: tuple[str, str] | None = None
        self._packets: deque[tuple[bytes, SocketAddress]] = deque()
        # The packet that the previous cycle did not finish, and its source.
        self._entries: Iterator[None] | None = None
        self._source: SocketAddress | None = None

    def do_work(self, gossip: Gossip, now_ms: int) -> int:
        """Process pending packets within the limits of a cycle; return the work count, 0 if there were none."""
        packets = entries = 0
        while entries < _ENTRIES_PER_CYCLE:
            if self._entries is None:
                if packets == _PACKETS_PER_CYCLE or not self._take_packet(gossip, now_ms):
                    break
                packets += 1
            entries += 1
            self._process_entry()
        return packets + entries

    def _take_packet(self, gossip: Gossip, now_ms: int) -> bool:
        if not self._packets:
            self._packets.extend(self._channel.receive())
        if not self._packets:
            return False
        packet, self._source = self._packets.popleft()
        self._entries = gossip.entries_processed(packet, GossipPeer.of(self._source), now_ms)
        return True

    def _process_entry(self) -> None:
        assert self._entries is not None
        try:
            next(self._entries)
        except StopIteration:
            self._entries = None
        except ProtocolError as error:
            self._entries = None
            self._context.system_counters["invalid_packets"].get_and_add(1)
            self.fault = (f"gossip: {error}", str(self._source))


class GossipSender:
    """Sender of the own name, and the names of others, to many peers; used by the conductor.

    A call of `do_work` sends at most `datagrams_per_cycle` datagrams. Peers of another address family than `family`
    receive nothing.
    """

    def __init__(
        self, channel: PacketChannel, context: NameResolverContext, family: int, datagrams_per_cycle: int
    ) -> None:
        self._channel = channel
        self._context = context
        self._family = family
        self._datagrams_per_cycle = datagrams_per_cycle
        self._announced_to: deque[GossipPeer] = deque()
        # A round of the names of others: the packet being sent, its names, the time of its ages, its remaining
        # destinations, and the remaining names.
        self._packet = b""
        self._packet_names: list[NameKey] = []
        self._packet_ms = 0
        self._destinations: deque[GossipPeer] = deque()
        self._names: deque[NameKey] = deque()

    def announce(self, peers: list[GossipPeer]) -> None:
        """Start to send the own name to `peers`, unless the previous round is not finished."""
        if not self._announced_to:
            self._announced_to.extend(peers)

    def spread(self, gossip: Gossip) -> None:
        """Start to send the names of others to all neighbours, unless the previous round is not finished."""
        if not self._names and not self._destinations:
            self._names = gossip.names()

    def do_work(self, gossip: Gossip, now_ms: int) -> int:
        """Send what is due, within the limit; return the number of datagrams, including those that could not be sent.

        The own name has priority: without it, neighbours would remove this driver.
        """
        limit = self._datagrams_per_cycle
        sent = 0
        while sent < limit and self._announced_to:
            self._send(gossip.self_packet, self._announced_to.popleft())
            sent += 1
        # Use at most half of the rest, rounded up, for candidates and new neighbours, so that forged packets do not
        # stop the exchange between neighbours.
        most = sent + (limit - sent + 1) // 2
        while sent < most and (peer := gossip.neighbors.take_prompt()) is not None:
            self._send(gossip.self_packet, peer, is_proven=peer in gossip.neighbors)
            sent += 1
        # One packet per cycle, because encoding takes longer than sending.
        if self._destinations:
            self._renew_packet(gossip, now_ms)
        elif self._names:
            names = list(self._names)
            self._packet, self._packet_ms = gossip.take_packet(self._names, now_ms), now_ms
            self._packet_names = names[: len(names) - len(self._names)]
            self._destinations.extend(gossip.neighbors.peers if self._packet else ())
        while sent < limit and self._destinations:
            self._send(self._packet, self._destinations.popleft())
            sent += 1
        return sent

    def _renew_packet(self, gossip: Gossip, now_ms: int) -> None:
        """Encode the packet that is being sent again, if its ages are stale."""
        if now_ms - self._packet_ms < _MAX_PACKET_AGE_MS:
            return
        self._packet, self._packet_ms = gossip.take_packet(deque(self._packet_names), now_ms), now_ms
        if not self._packet:
            # All of its names have timed out.
            self._destinations.clear()

    def _send(self, packet: bytes, peer: GossipPeer, *, is_proven: bool = True) -> None:
        if peer.family != self._family:
            return
        address = peer.socket_address()
        if not self._channel.send(packet, address):
            self._context.system_counters["short_sends"].get_and_add(1)
        code = self._channel.take_error()
        if code:
            # Any packet can name an address without a route: such addresses must not replace those of neighbours.
            destination = "a neighbour" if is_proven else "a driver that others name"
            self._context.report(
                f"cannot send names to {destination}: {os.strerror(code)}: check the routes and the firewall of this "
                "machine",
                peer=str(address),
            )
