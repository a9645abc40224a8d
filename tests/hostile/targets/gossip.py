"""Gossip of driver names among drivers, of which any host may send packets: limits hold, and drivers find each other.

An input begins with a byte: 1 for IPv6, 2 for a driver that sends few datagrams. Packets follow: time before each in
units of 100 ms, in the operation, the number of its source, and the packet. A source of less than 128 is another host,
128 and 129 are the neighbours of the settings, from 130 on other ports of the first one.
"""

from __future__ import annotations

import socket
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from aeron_resolvers.driver import DriverNameResolver
from aeron_resolvers.gossip import MAX_NAMES, MAX_PACKET_LENGTH, Gossip
from aeron_resolvers.neighbors import MAX_AMPLIFICATION, MAX_CANDIDATES, MAX_NEIGHBORS

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.clock import Clock
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.datagrams import DatagramChannel, PythonDatagramChannel
from aeron_core.protocol.frames.resolution import ResolutionEntry, ResolutionFrame
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.name_resolver import NameResolverContext, NameResolverParams
from targets._messages import datagrams
from targets._script import Script, block

PORT = 8050
IPV6, SLOW = 1, 2
NAMES = ("here", "there", "third")
MS = 1_000_000
#: Interval of duty cycles: longer than in a driver, because an input may let minutes pass.
STEP_MS = 100
MAX_PACKETS = 16
#: Datagrams a second of a slow driver: one in each duty cycle.
FEW = 100
#: Time without forged packets after which nothing is left of them: a name that others pass on has a timeout of 10 s,
#: and so has an address that it names.
SILENCE_MS = 22_000
#: Of all reports: a text has nothing that a peer chose.
MAX_TEXTS = 8
HEADERS_LENGTH = {socket.AF_INET: 28, socket.AF_INET6: 48}


@dataclass
class Network:
    """Packets that wait for each address, and those that the first driver has sent and received."""

    clock: Clock = field(default_factory=lambda: Clock.manual(now_ns=1, epoch_ms=1))
    waiting: defaultdict[str, deque[tuple[bytes, SocketAddress]]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    sent_to: defaultdict[SocketAddress, int] = field(default_factory=lambda: defaultdict(int))
    received: list[tuple[bytes, SocketAddress]] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)

    def send(self, data: bytes, source: SocketAddress, destination: SocketAddress) -> None:
        if source.host == destination.host and source.port == destination.port:
            return
        self.waiting[str(destination)].append((data, source))


class Face:
    """Socket of one driver."""

    def __init__(self, network: Network, address: SocketAddress) -> None:
        self._network = network
        self._address = address
        self._is_observed = address.packed[-1] == 1

    def receive(self, limit: int) -> list[tuple[bytes, SocketAddress]]:
        waiting = self._network.waiting[str(self._address)]
        taken = [waiting.popleft() for _ in range(min(limit, len(waiting)))]
        if self._is_observed:
            self._network.received += taken
        return taken

    def send(self, data: bytes, destination: SocketAddress) -> None:
        if self._is_observed:
            self._network.sent_to[destination] += length_on_wire(data, destination)
            check_packet(data)
        self._network.send(data, self._address, destination)

    def local_address(self) -> SocketAddress:
        return self._address.copy()

    def close(self) -> None:
        pass


class Agent:
    """A driver's resolver, whose neighbours in the settings are the others."""

    def __init__(self, network: Network, number: int, *, is_ipv6: bool, datagrams_per_s: int) -> None:
        self._network = network
        self.address = host(number, is_ipv6=is_ipv6)
        self.reports: list[str] = []
        self.errors: defaultdict[str, AtomicCounter] = defaultdict(new_counter)
        others = tuple(str(host(each, is_ipv6=is_ipv6)) for each in (1, 2, 3) if each != number)
        self.resolver = DriverNameResolver(
            NameResolverParams(
                driver_name=NAMES[number - 1],
                interface=str(self.address),
                bootstrap_neighbors=others,
                datagrams_per_s=datagrams_per_s,
            )
        )
        self.resolver.start(
            NameResolverContext(
                clock=network.clock,
                system_counters=self.errors,
                open_datagrams=self._open,
                new_counter=lambda *_: new_counter(),
                set_label=lambda *_: None,
                start_lookup=self._look_up,
                report=self._report,
            )
        )

    @property
    def gossip(self) -> Gossip:
        assert self.resolver._gossip is not None
        return self.resolver._gossip

    def _open(self, _: DatagramOptions) -> DatagramChannel:
        return PythonDatagramChannel(Face(self._network, self.address))

    def _look_up(self, call: Callable[[], None]) -> None:
        raise AssertionError("all neighbours are addresses")

    def _report(self, text: str, *, peer: str = "") -> None:
        self.reports.append(text)
        assert len(peer) < 64


def new_counter() -> AtomicCounter:
    return AtomicCounter(AtomicBuffer.allocate(128), 0)


def host(number: int, port: int = PORT, *, is_ipv6: bool = False) -> SocketAddress:
    return SocketAddress.of(f"fd00::{number:x}" if is_ipv6 else f"10.0.0.{number}", port)


def source_of(number: int, *, is_ipv6: bool) -> SocketAddress:
    if number < 128:
        return host(number + 4, is_ipv6=is_ipv6)
    if number < 130:
        return host(number - 126, is_ipv6=is_ipv6)
    return host(2, 9000 + number, is_ipv6=is_ipv6)


def packet(*entries: ResolutionEntry) -> bytes:
    buffer = AtomicBuffer.allocate(2048)
    return buffer.get_bytes(0, ResolutionFrame(entries).encode(buffer, 0))


def seeds() -> list[bytes]:
    forger = ResolutionEntry("forger", host(6).packed, PORT, flags=wire.RES_FLAG_SELF)
    false = ResolutionEntry("there", host(6).packed, PORT)
    namesake = ResolutionEntry("here", host(6).packed, PORT, flags=wire.RES_FLAG_SELF)
    far = ResolutionEntry("far", host(200, is_ipv6=True).packed, PORT, 100)
    many = [ResolutionEntry(f"n{number}", bytes([10, 1, 0, number]), PORT) for number in range(40)]
    captured = [each for each in datagrams() if each[6] == wire.TYPE_RES]
    return [
        b"\0" + block(b"\2" + packet(forger), 1) + block(b"\2" + packet(forger, false), 20),
        b"\0" + block(b"\2" + packet(namesake, *many), 5) + block(b"\x80" + packet(false), 110),
        b"\1" + block(b"\3" + packet(far), 0) + block(b"\x82" + packet(far), 1),
        b"\2" + block(b"\4" + packet(*many), 0) * 3 + block(b"\x81" + packet(false), 255),
        *(b"\0" + block(b"\1" + each, 10) + block(b"\x80" + each, 100) for each in captured),
    ]


def check(data: bytes) -> bool:
    flags, script = (data[0] if data else 0), Script(data[1:])
    is_ipv6 = bool(flags & IPV6)
    network = Network()
    agents = [
        Agent(network, number, is_ipv6=is_ipv6, datagrams_per_s=FEW if flags & SLOW else 1600)
        for number in (1, 2, 3)
    ]
    here = agents[0]
    run(agents, 300)
    for pause, content in script.blocks(MAX_PACKETS):
        run(agents, pause * 100)
        source = source_of(content[0] if content else 0, is_ipv6=is_ipv6)
        network.sources.add(str(source))
        network.send(content[1:], source, here.address)
        run(agents, STEP_MS)
        check_limits(here)
    invalid = here.errors["invalid_packets"].get()
    assert invalid <= MAX_PACKETS
    # Without other packets, what was forged is forgotten, and the drivers know each other.
    run(agents, SILENCE_MS)
    for agent in agents:
        assert [agent.gossip.find(name) for name in NAMES] == [each.address.host for each in agents]
        assert (agent.gossip.name_count, len(agent.gossip.neighbors)) == (2, 2)
        assert agent.gossip.neighbors.candidates == []
    check_amplification(network, agents)
    return invalid == 0


def run(agents: list[Agent], duration_ms: int) -> None:
    clock = agents[0]._network.clock
    for _ in range(duration_ms // STEP_MS):
        clock.advance(STEP_MS * MS)
        for agent in agents:
            agent.resolver.do_work(clock.nano_time())


def check_limits(agent: Agent) -> None:
    gossip = agent.gossip
    assert gossip.name_count <= MAX_NAMES
    assert len(gossip.neighbors) <= MAX_NEIGHBORS
    assert len(gossip.neighbors.candidates) <= MAX_CANDIDATES
    assert gossip.find(NAMES[0]) == agent.address.host
    assert len(set(agent.reports)) <= MAX_TEXTS
    assert all(len(text) < 400 for text in agent.reports)


def check_packet(data: bytes) -> None:
    frame = ResolutionFrame.decode(AtomicBuffer(data), 0, len(data))
    assert frame.entries
    assert len(data) <= MAX_PACKET_LENGTH or len(frame.entries) == 1


def check_amplification(network: Network, agents: list[Agent]) -> None:
    """Assert that an address that has sent nothing was sent little in proportion to the packets that named it."""
    known = network.sources | {str(agent.address) for agent in agents}
    for address, length in network.sent_to.items():
        if str(address) not in known:
            named = sum(
                length_on_wire(data, source) for data, source in network.received if address.packed in data
            )
            assert length <= MAX_AMPLIFICATION * named, address


def length_on_wire(data: bytes, peer: SocketAddress) -> int:
    return len(data) + HEADERS_LENGTH[peer.family]
