"""Driver resolver: driver names, exchanged between drivers by gossip over UDP.

All other names are resolved by a fallback resolver, by default that of the operating system.
Invariant: only the conductor uses the socket and writes tables; helper threads read the tables and resolve hosts.
Source: aeron_driver_name_resolver.c.
"""

from __future__ import annotations

import socket
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import DatagramChannel, UdpSocket
from aeron_core.errors import AeronError, ConfigurationError
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.name_resolver import NameResolverContext, NameResolverParams, WorkingNameResolver
from aeron_core.uri.addresses import InterfaceSpec, parse_address
from aeron_resolvers.gossip import MAX_NAME_LENGTH, Gossip, GossipParams, name_length
from aeron_resolvers.packets import PacketChannel
from aeron_resolvers.peer import GossipPeer
from aeron_resolvers.system import SystemNameResolver, find_address
from aeron_resolvers.traffic import GossipReceiver, GossipSender

if TYPE_CHECKING:
    from aeron_core._native.counter import AtomicCounter

NEIGHBORS_TYPE_ID: Final = 15
CACHE_ENTRIES_TYPE_ID: Final = 16
BOOTSTRAP_NEIGHBOR_TYPE_ID: Final = 21
REFUSED_TYPE_ID: Final = 1023  # not of the reference; the other such ids are in `counter_types`

_MS: Final = 1_000_000
_DUTY_CYCLE_NS: Final = 10 * _MS  # the interval of the reference
_FAULT_INTERVAL_NS: Final = 1000 * _MS  # the interval at which the conductor reports faults of streams
#: Passed to the fallback in place of the key of a channel URI. Source: aeron_driver_name_resolver.c.
_BOOTSTRAP_KEY: Final = "bootstrap_neighbor"


class _Bootstrap:
    """A driver from the settings to contact first; if its name cannot be resolved, each lookup reports that."""

    def __init__(self, text: str, counter: AtomicCounter) -> None:
        self.text = text
        self.counter = counter
        self.peer: GossipPeer | None = None
        self.is_being_looked_up = False

    @property
    def label(self) -> str:
        """The label of its counter."""
        resolved = "" if self.peer is None else str(self.peer.socket_address())
        return f"Bootstrap neighbor: name={self.text} resolved={resolved}"


class DriverNameResolver:
    """Resolver of driver names received by gossip, and of its own; all other names are passed to the fallback.

    The constructor raises ConfigurationError for a missing or invalid `resolver_name` or `resolver_interface`.
    """

    def __init__(self, params: NameResolverParams) -> None:
        _check(params)
        self._params = params
        self._fallback = params.fallback
        self._working = self._fallback if isinstance(self._fallback, WorkingNameResolver) else None
        self._local = _local_address(params.interface)
        self._gossip: Gossip | None = None
        self._bootstraps: list[_Bootstrap] = []
        # Results of lookups, passed from helper threads to the conductor: append and popleft of a deque are atomic.
        self._looked_up: deque[tuple[_Bootstrap, GossipPeer | None, str]] = deque()
        self._deadline_ns = 0
        self._bootstrap_deadline_ns = 0
        self._fault_deadline_ns = 0

    def start(self, context: NameResolverContext) -> None:
        """Start the fallback, bind the socket and add counters.

        Raises OSError if the interface cannot be bound, StorageError if no counter is free, and the errors of the
        fallback; then neither the socket nor the fallback stays open.
        """
        if self._working is not None:
            self._working.start(context)
        try:
            datagrams = (context.open_datagrams or _open_socket)(DatagramOptions(bind=self._local))
        except BaseException:
            self.close()
            raise
        if context.protector is not None:
            datagrams = context.protector.protect(datagrams)
        try:
            self._start_gossip(context, datagrams)
        except BaseException:
            self._gossip = None
            datagrams.close()
            self.close()
            raise

    def _start_gossip(self, context: NameResolverContext, datagrams: DatagramChannel) -> None:
        params, now_ns = self._params, context.clock.nano_time()
        self._context = context
        self._channel = PacketChannel(datagrams)
        # The address from the settings: if it is a wildcard, other drivers use the source address of the packet.
        peer = GossipPeer.of(self._local.with_port(self._channel.local_address().port))
        self._gossip = Gossip(
            GossipParams(
                name=params.driver_name,
                peer=peer,
                mtu=params.mtu - (0 if context.protector is None else context.protector.overhead),
                timeout_ms=params.neighbor_timeout_ns // _MS,
                self_interval_ms=params.self_resolution_interval_ns // _MS,
                neighbor_interval_ms=params.neighbor_resolution_interval_ns // _MS,
            ),
            now_ns // _MS,
        )
        self._neighbor_counter = context.new_counter(
            NEIGHBORS_TYPE_ID, f"Resolver neighbors: bound {peer.socket_address()}", b""
        )
        self._cache_counter = context.new_counter(
            CACHE_ENTRIES_TYPE_ID, f"Resolver cache entries: name={params.driver_name}", b""
        )
        self._refused_counter = context.new_counter(
            REFUSED_TYPE_ID, f"Refused gossip: name={params.driver_name}", b""
        )
        datagrams_per_cycle = max(1, params.datagrams_per_s * _DUTY_CYCLE_NS // (1000 * _MS))
        self._receiver = GossipReceiver(self._channel, context)
        self._sender = GossipSender(self._channel, context, self._local.family, datagrams_per_cycle)
        for index, text in enumerate(params.bootstrap_neighbors):
            label = f"Bootstrap neighbor: name={text} resolved="
            counter = context.new_counter(BOOTSTRAP_NEIGHBOR_TYPE_ID, label, index.to_bytes(4, "little"))
            self._bootstraps.append(_Bootstrap(text, counter))
        self._deadline_ns = self._bootstrap_deadline_ns = now_ns

    def do_work(self, now_ns: int) -> int:
        """Do the work of the fallback, and every 10 ms receive and send gossip; return the work count."""
        work = 0 if self._working is None else self._working.do_work(now_ns)
        gossip = self._gossip
        if gossip is None or now_ns < self._deadline_ns:
            return work
        self._deadline_ns = now_ns + _DUTY_CYCLE_NS
        now_ms = now_ns // _MS
        work += self._receiver.do_work(gossip, now_ms) + gossip.remove_silent(now_ms) + self._take_looked_up()
        if now_ns >= self._bootstrap_deadline_ns:
            self._bootstrap_deadline_ns = now_ns + self._params.bootstrap_resolution_interval_ns
            self._look_up_bootstraps(gossip)
        if gossip.is_self_due(now_ms):
            self._announce(gossip)
        if gossip.is_neighbor_due(now_ms):
            self._sender.spread(gossip)
        work += self._sender.do_work(gossip, now_ms)
        self._count(gossip)
        self._report(gossip, now_ns)
        return work

    def close(self) -> None:
        """Close the socket and the fallback."""
        if self._gossip is not None:
            self._channel.close()
        if self._working is not None:
            self._working.close()

    def lookup(self, name: str, uri_key: str, is_re_lookup: bool) -> str:
        """Return the result of the fallback: gossip carries hosts, not ports of channels."""
        return self._fallback.lookup(name, uri_key, is_re_lookup)

    def resolve(self, host: str, uri_key: str, is_re_resolution: bool) -> str | None:
        """Return the address of the driver with that name, else the result of the fallback, which may block."""
        found = None if self._gossip is None else self._gossip.find(host)
        return found or self._fallback.resolve(host, uri_key, is_re_resolution)

    def _report(self, gossip: Gossip, now_ns: int) -> None:
        # At most once per interval, so that forged packets do not fill the error log.
        if now_ns < self._fault_deadline_ns:
            return
        faults = self._take_faults(gossip)
        for text, peer in faults:
            self._context.report(text, peer=peer)
        if faults:
            self._fault_deadline_ns = now_ns + _FAULT_INTERVAL_NS

    def _take_faults(self, gossip: Gossip) -> list[tuple[str, str]]:
        """Return texts without anything that peers chose, each with the address of the last peer that caused it."""
        faults = [self._receiver.fault] if self._receiver.fault else []
        self._receiver.fault = None
        refused = gossip.refused_count
        if refused != self._refused_counter.get():
            self._refused_counter.set_release(refused)
            faults.append(
                ("gossip: ignored entries beyond the limits for names, neighbours and new neighbours", "")
            )
        if gossip.namesake is not None:
            text = (
                f"another driver uses the name {self._params.driver_name!r}, and is ignored: "
                "set a unique resolver_name in one of them"
            )
            faults.append((text, str(gossip.namesake.socket_address())))
            gossip.namesake = None
        return faults

    def _announce(self, gossip: Gossip) -> None:
        bootstraps = [one.peer for one in self._bootstraps if one.peer is not None]
        self._sender.announce(list(dict.fromkeys([*bootstraps, *gossip.neighbors.peers])))
        for one in self._bootstraps:
            is_connected = one.peer is not None and one.peer in gossip.neighbors
            one.counter.set_release(1 if is_connected else 0)

    def _look_up_bootstraps(self, gossip: Gossip) -> None:
        for one in self._bootstraps:
            if one.is_being_looked_up or (one.peer is not None and one.peer in gossip.neighbors):
                continue
            try:
                self._found(one, GossipPeer.of(SocketAddress.of(*parse_address(one.text))))
            except (ConfigurationError, OSError):
                # The text is a name. As in the reference, the driver does not wait for its lookup.
                one.is_being_looked_up = True
                self._context.start_lookup(partial(self._look_up, one))

    def _look_up(self, one: _Bootstrap) -> None:
        # Any exception, because the fallback may be of another plugin: without a result, the lookup would never be
        # repeated.
        try:
            self._looked_up.append((one, self._peer_of(one.text), ""))
        except Exception as error:
            self._looked_up.append((one, None, str(error)))

    def _peer_of(self, name: str) -> GossipPeer:
        """Return the peer that a name stands for, as for names of channels: lookup to host:port, then resolution.

        Runs on a helper thread. Raises ConfigurationError if the host is unknown, or has no address of this family.
        """
        found = self._fallback.lookup(name, _BOOTSTRAP_KEY, False)
        unresolved = f"Unresolved - {_BOOTSTRAP_KEY}={name}, name-and-port={found}"
        try:
            address = parse_address(found)
            with suppress(OSError):
                return GossipPeer.of(SocketAddress.of(*address))
            host = self._address_of(address.host)
        except AeronError as error:
            raise ConfigurationError(f"{error}: {unresolved}") from None
        if host is None:
            raise ConfigurationError(
                f"Unable to resolve host=({address.host}): unknown host, or without an address in the family of "
                f"resolver_interface: {unresolved}"
            )
        return GossipPeer.of(SocketAddress.of(host, address.port))

    def _address_of(self, host: str) -> str | None:
        """Return a numeric address of `host` in the address family of this driver, None if there is none."""
        if isinstance(self._fallback, SystemNameResolver):
            return find_address(host, (self._local.family,))
        found = self._fallback.resolve(host, _BOOTSTRAP_KEY, False)
        is_ours = found is not None and SocketAddress.of(found, 0).family == self._local.family
        return found if is_ours else None

    def _take_looked_up(self) -> int:
        count = 0
        while self._looked_up:
            one, peer, fault = self._looked_up.popleft()
            one.is_being_looked_up = False
            if fault:
                self._context.report(
                    f"bootstrap neighbour {one.text!r}: {fault}; the lookup is repeated: check this name in "
                    "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR"
                )
            self._found(one, peer)
            count += 1
        return count

    def _found(self, one: _Bootstrap, peer: GossipPeer | None) -> None:
        if peer != one.peer:
            one.peer = peer
            self._context.set_label(one.counter, one.label)
            if self._gossip is not None:
                self._gossip.neighbors.trust(one.peer for one in self._bootstraps if one.peer is not None)

    def _count(self, gossip: Gossip) -> None:
        self._neighbor_counter.set_release(len(gossip.neighbors))
        self._cache_counter.set_release(gossip.name_count)


def _check(params: NameResolverParams) -> None:
    if not params.driver_name or not params.interface:
        raise ConfigurationError(
            "name_resolver=driver without resolver_name or resolver_interface "
            "(AERON_DRIVER_RESOLVER_NAME, AERON_DRIVER_RESOLVER_INTERFACE): set both"
        )
    if name_length(params.driver_name) > MAX_NAME_LENGTH:
        raise ConfigurationError(
            f"resolver_name={params.driver_name[:MAX_NAME_LENGTH]!r}…: must be from 1 to {MAX_NAME_LENGTH} bytes, "
            f"has {name_length(params.driver_name)}"
        )


def _local_address(interface: str) -> SocketAddress:
    try:
        spec = InterfaceSpec.parse(interface)
    except ConfigurationError as error:
        raise ConfigurationError(f"resolver_interface: {error}") from None
    host = None if spec.is_named else find_address(spec.host)
    if host is None:
        raise ConfigurationError(
            f"resolver_interface={interface}: must be an address of this machine and a port, such as 127.0.0.1:8050"
        )
    return SocketAddress.of(host, spec.port)


def _open_socket(options: DatagramOptions) -> DatagramChannel:
    sock = socket.socket(options.bind.family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        sock.bind(options.bind.as_tuple())
        return UdpSocket(sock)
    except BaseException as error:
        sock.close()
        if isinstance(error, OSError):
            raise OSError(
                error.errno,
                f"cannot bind resolver_interface {options.bind}: {error.strerror}: must be an address of this machine "
                "and a port that no other socket has",
            ) from None
        raise
