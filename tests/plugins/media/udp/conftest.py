"""Endpoints over a simulated network with a manual clock."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aeron_media.udp.transport import UdpTransport

from aeron_core._native.address import SocketAddress
from aeron_core._native.clock import Clock
from aeron_core._native.counter import AtomicCounter
from aeron_core._native.datagrams import DatagramChannel
from aeron_core.spi.media import DatagramOptions, ReceiveEndpointParams, SendEndpointParams
from aeron_core.testing import (
    DatagramProbe,
    ReceiveEndpointProbe,
    RecordingDispatcher,
    RecordingSendStream,
    SendEndpointProbe,
    SimulatedNetwork,
    counted,
    make_counters,
)
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri

URI = "aeron:udp?endpoint=127.0.0.1:20121"
RECEIVER_ID = 0x1122334455667788
COUNTERS = (
    "bytes_sent",
    "bytes_received",
    "invalid_packets",
    "short_sends",
    "status_messages_received",
    "naks_received",
    "error_frames_received",
)


def resolve_literal(text: str, uri_key: str) -> SocketAddress:
    """Resolve addresses and one name."""
    host, port = parse_address(text)
    return SocketAddress.of({"localhost": "127.0.0.1"}.get(host, host), port)


@dataclass
class Lab:
    """A transport, its simulated network, and the counters of its endpoints."""

    clock: Clock = field(default_factory=lambda: Clock.manual(now_ns=1_000))
    transport: UdpTransport = field(default_factory=UdpTransport)
    counters: dict[str, AtomicCounter] = field(default_factory=lambda: make_counters(*COUNTERS))
    dispatcher: RecordingDispatcher = field(default_factory=RecordingDispatcher)

    def __post_init__(self) -> None:
        self.network = SimulatedNetwork(self.clock)

    def _common(self, uri: str, *, is_publication: bool) -> dict[str, Any]:
        channel = self.transport.resolve_channel(
            ChannelUri.parse(uri), resolve_literal, is_publication=is_publication
        )
        return {
            "channel": channel,
            "channel_status_id": 0,
            "open_datagrams": self.network.open,
            "counters": self.counters,
            "sndbuf_length": 0,
            "rcvbuf_length": 0,
            "uses_gso": True,
            "uses_gro": True,
            "clock": self.clock,
        }

    def open_send(self, uri: str = URI, **changes: Any) -> SendEndpointProbe:
        params = replace(SendEndpointParams(**self._common(uri, is_publication=True)), **changes)
        return SendEndpointProbe(self.transport.open_send_endpoint(params))

    def open_receive(self, uri: str = URI, **changes: Any) -> ReceiveEndpointProbe:
        common = self._common(uri, is_publication=False)
        params = ReceiveEndpointParams(**common, dispatcher=self.dispatcher, receiver_id=RECEIVER_ID)
        return ReceiveEndpointProbe(self.transport.open_receive_endpoint(replace(params, **changes)))

    def open_socket(self, port: int, host: str = "127.0.0.1") -> DatagramProbe:
        """Open a socket of a peer."""
        channel: DatagramChannel = self.network.open(DatagramOptions(SocketAddress.of(host, port)))
        return DatagramProbe(channel)

    @staticmethod
    def address_of(probe: SendEndpointProbe | ReceiveEndpointProbe) -> SocketAddress:
        """Return the local address of an endpoint."""
        host, port = parse_address(probe.endpoint.local_addresses()[0])
        return SocketAddress.of(host, port)

    @staticmethod
    def send_to(probe: DatagramProbe, destination: SocketAddress, *datagrams: bytes) -> None:
        """Send datagrams, one call each."""
        for datagram in datagrams:
            probe.send([(datagram, max(len(datagram), 1))], destination)

    def counted(self) -> dict[str, int]:
        return counted(self.counters)


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
def stream() -> RecordingSendStream:
    return RecordingSendStream(session_id=7, stream_id=1001)
