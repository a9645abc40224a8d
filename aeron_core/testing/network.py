"""Simulated network: hosts, and links that drop, duplicate, delay and reorder datagrams, reproducibly from a seed.

Nothing runs in the background: the first receive call at or after the time of arrival of a datagram returns it.

Not here: the rules of the links (`links`).
"""

from __future__ import annotations

import errno
import itertools
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from ipaddress import ip_address
from typing import Final, NamedTuple

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.datagrams import DatagramChannel, PythonDatagramChannel
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing.links import Fate, SimulatedLink, SimulatedLinks, host_of

FIRST_EPHEMERAL_PORT: Final = 49152  # RFC 6335
LAST_PORT: Final = 65535
#: Read for each datagram: a member of an enumeration is looked up by functions of Python.
_DELIVERED: Final = Fate.DELIVERED


class Sent(NamedTuple):
    """One datagram in the network's log."""

    time_ns: int
    source: str
    destination: str
    data: bytes
    fate: Fate


@dataclass(eq=False, slots=True)
class _Socket:
    """A bound socket; its queue is ordered by time of arrival, then by time of sending."""

    address: SocketAddress
    peer: SocketAddress | None
    capacity: int  # bytes, 0 for no limit
    is_wildcard: bool = False  # bound to no specific address
    queue: list[tuple[int, int, bytes, SocketAddress]] = field(default_factory=list)
    queued_length: int = 0
    name: str = field(init=False)  # text of the address

    def __post_init__(self) -> None:
        self.name = str(self.address)


class _Target(NamedTuple):
    """Host and port that a datagram is sent to, and their text."""

    key: tuple[str, int]
    name: str


class SimulatedNetwork:
    """A network of hosts; any thread may use it. `open` and `host(...).open` replace the opening of sockets.

    A socket that binds the address of a multicast group joins the group. A datagram to a group is sent to the address
    of each member, and logged once per member.
    """

    def __init__(self, clock: Clock, seed: int = 1, *, link: SimulatedLink | None = None) -> None:
        self.clock = clock
        self.seed = seed
        self.log: list[Sent] = []
        self.counts: dict[Fate, int] = dict.fromkeys(Fate, 0)
        self._links = SimulatedLinks(seed, link or SimulatedLink())
        self._sockets: dict[tuple[str, int], _Socket] = {}
        self._members: defaultdict[tuple[str, int], list[_Socket]] = defaultdict(list)
        self._ephemeral: defaultdict[str, Iterable[int]] = defaultdict(
            lambda: itertools.count(FIRST_EPHEMERAL_PORT)
        )
        self._order = itertools.count()
        #: Cache: a simulation sends millions of datagrams to few addresses.
        self._targets: dict[SocketAddress, _Target] = {}
        self._lock = threading.Lock()
        self._default_host = self.host("127.0.0.1", "::1")

    def host(self, *addresses: str) -> SimulatedHost:
        """Return a host with these addresses; a wildcard bind uses the first one of its family."""
        return SimulatedHost(self, addresses)

    def open(self, options: DatagramOptions) -> DatagramChannel:
        """Open a socket on the default host, which has the loopback addresses; raise as `SimulatedHost.open`."""
        return self._default_host.open(options)

    def set_link(
        self, link: SimulatedLink, *, source: str | None = None, destination: str | None = None
    ) -> None:
        """Set the behaviour of a direction for future datagrams.

        An end is a host (`10.0.0.1`), an address (`10.0.0.1:20121`) or None for any. The most specific rule wins, and
        the destination takes precedence over the source.
        """
        with self._lock:
            self._links.set(link, source, destination)

    def partition(self, one: str, other: str) -> None:
        """Drop future datagrams between two ends, as in `set_link`, in both directions."""
        for source, destination in ((one, other), (other, one)):
            self.set_link(SimulatedLink(is_partitioned=True), source=source, destination=destination)

    def heal(self, one: str, other: str) -> None:
        """Remove the rules between two ends, in both directions, whether `partition` or `set_link` has set them."""
        with self._lock:
            self._links.remove(one, other)
            self._links.remove(other, one)

    def sent(self, *, source: str | None = None, destination: str | None = None) -> list[bytes]:
        """Return the datagrams sent between two ends, as in `set_link`, whatever their outcome."""
        return [
            line.data
            for line in self.log
            if source in (None, line.source, host_of(line.source))
            and destination in (None, line.destination, host_of(line.destination))
        ]

    def _bind(self, host: SimulatedHost, options: DatagramOptions) -> _Socket:
        with self._lock:
            if ip_address(options.bind.packed).is_multicast:
                return self._join(host, options)
            name = host.address_for(options.bind)
            port = options.bind.port or self._free_port(name)
            if (name, port) in self._sockets:
                raise OSError(
                    errno.EADDRINUSE,
                    f"cannot bind {options.bind}: in use by another simulated socket: close that one, or use port 0",
                )
            is_wildcard = not any(options.bind.packed) and options.bind.port == 0
            made = _Socket(SocketAddress.of(name, port), options.connect, options.rcvbuf_length, is_wildcard)
            self._sockets[name, port] = made
            return made

    def _join(self, host: SimulatedHost, options: DatagramOptions) -> _Socket:
        # The source of sent datagrams is the address of the host; any number of members may share the port.
        own = host.address_for(SocketAddress.of("::" if ":" in options.bind.host else "0.0.0.0", 0))
        address = SocketAddress.of(own, options.bind.port)
        member = _Socket(address, options.connect, options.rcvbuf_length)
        self._members[options.bind.host, options.bind.port].append(member)
        return member

    def _free_port(self, name: str) -> int:
        for port in self._ephemeral[name]:
            if port > LAST_PORT:
                break
            if (name, port) not in self._sockets:
                return port
        raise OSError(
            errno.EADDRINUSE,
            f"no port from {FIRST_EPHEMERAL_PORT} to {LAST_PORT} is left on {name}: each is used once only for port 0; "
            "bind a port number, or create another network",
        )

    def _connect(self, host: SimulatedHost, socket: _Socket, peer: SocketAddress) -> None:
        with self._lock:
            if socket.peer is None:
                return
            socket.peer = peer.copy()
            name = host.address_towards(peer)
            if socket.is_wildcard and name != socket.address.host and socket.address.port:
                del self._sockets[socket.address.host, socket.address.port]
                socket.address = SocketAddress.of(name, self._free_port(name))
                socket.name = str(socket.address)
                self._sockets[name, socket.address.port] = socket

    def _unbind(self, socket: _Socket) -> None:
        with self._lock:
            key = (socket.address.host, socket.address.port)
            if self._sockets.get(key) is socket:
                del self._sockets[key]
            for members in self._members.values():
                if socket in members:
                    members.remove(socket)

    def _send(self, socket: _Socket, data: bytes, destination: SocketAddress) -> None:
        with self._lock:
            to = socket.peer or destination
            key, name = self._targets.get(to) or self._remember(to)
            members = self._members.get(key)
            if not members:
                self._send_to(socket, data, name, self._sockets.get(key))
            # The links to the members are independent: one may drop the datagram while another one delivers it.
            for member in members or ():
                self._send_to(socket, data, member.name, member)

    def _remember(self, address: SocketAddress) -> _Target:
        found = self._targets[address.copy()] = _Target((address.host, address.port), str(address))
        return found

    def _send_to(self, socket: _Socket, data: bytes, target: str, receiver: _Socket | None) -> None:
        fate, delay_ns, is_doubled = self._links.draw(socket.name, target)
        if fate is _DELIVERED:
            fate = self._enqueue(socket.address, receiver, data, delay_ns)
            if fate is _DELIVERED and is_doubled:
                fate = Fate.DUPLICATED
                self._enqueue(socket.address, receiver, data, delay_ns)
        self.counts[fate] += 1
        self.log.append(Sent(self.clock.nano_time(), socket.name, target, data, fate))

    def _enqueue(self, source: SocketAddress, receiver: _Socket | None, data: bytes, delay_ns: int) -> Fate:
        if receiver is None or (receiver.peer is not None and receiver.peer != source):
            return Fate.UNREACHABLE
        length = len(data)
        if receiver.capacity and receiver.queued_length + length > receiver.capacity:
            return Fate.OVERFLOWED
        receiver.queued_length += length
        due_ns = self.clock.nano_time() + delay_ns
        heappush(receiver.queue, (due_ns, next(self._order), data, source))
        return _DELIVERED

    def _receive(self, socket: _Socket, limit: int) -> list[tuple[bytes, SocketAddress]]:
        # Most calls find nothing. A datagram that another thread sends at the same time may arrive later.
        if not socket.queue:
            return []
        with self._lock:
            now_ns = self.clock.nano_time()
            arrived: list[tuple[bytes, SocketAddress]] = []
            while len(arrived) < limit and socket.queue and socket.queue[0][0] <= now_ns:
                _, _, data, source = heappop(socket.queue)
                socket.queued_length -= len(data)
                arrived.append((data, source))
            return arrived


class SimulatedHost:
    """One machine of the network, with one or more addresses."""

    def __init__(self, network: SimulatedNetwork, addresses: Iterable[str]) -> None:
        self.network = network
        self.addresses = [SocketAddress.of(address, 0) for address in addresses]

    def open(self, options: DatagramOptions) -> DatagramChannel:
        """Open a socket with `options`.

        Raises OSError if the address is in use or not one of this host, or if no port is left for port 0.
        """
        return PythonDatagramChannel(_SocketFace(self, self.network._bind(self, options)))

    def address_for(self, bind: SocketAddress) -> str:
        """Return the address that a socket bound to `bind` has on this host; raise OSError if there is none."""
        for address in self.addresses:
            if address.family == bind.family and (not any(bind.packed) or address.packed == bind.packed):
                return address.host
        raise OSError(
            errno.EADDRNOTAVAIL,
            f"cannot bind {bind}: this simulated host has no such address: must be one of these, or a wildcard of "
            f"their families: {', '.join(address.host for address in self.addresses)}",
        )

    def address_towards(self, peer: SocketAddress) -> str:
        """Return the local address of a socket connected to `peer`: the one with the longest common prefix.

        Raises ValueError if the host has no address of that family.
        """
        number = int.from_bytes(peer.packed, "big")
        return min(
            (address for address in self.addresses if address.family == peer.family),
            key=lambda address: int.from_bytes(address.packed, "big") ^ number,
        ).host


class _SocketFace:
    """Socket interface that `PythonDatagramChannel` requires."""

    def __init__(self, host: SimulatedHost, socket: _Socket) -> None:
        self._host = host
        self._network = host.network
        self._socket = socket
        self._is_closed = False

    def receive(self, limit: int) -> list[tuple[bytes, SocketAddress]]:
        if self._is_closed:
            raise self._closed_error()
        return self._network._receive(self._socket, limit)

    def send(self, datagram: bytes, destination: SocketAddress) -> None:
        if self._is_closed:
            raise self._closed_error()
        self._network._send(self._socket, datagram, destination)

    def local_address(self) -> SocketAddress:
        return self._socket.address.copy()

    def connect(self, address: SocketAddress) -> None:
        self._network._connect(self._host, self._socket, address)

    def close(self) -> None:
        self._is_closed = True
        self._network._unbind(self._socket)

    def _closed_error(self) -> OSError:
        # As of a closed descriptor. A real descriptor could belong to another socket by now.
        return OSError(errno.EBADF, f"the simulated socket {self._socket.address} is closed: open another")
