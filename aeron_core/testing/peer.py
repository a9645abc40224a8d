"""A peer without a driver: a test decides which frames it sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.address import SocketAddress
from aeron_core.spi.media import DatagramOptions
from aeron_core.testing.probes import DatagramProbe

if TYPE_CHECKING:
    from aeron_core.testing.network import SimulatedNetwork


class SimulatedPeer:
    """One socket of a simulated host that sends to one address, and receives from any."""

    def __init__(self, network: SimulatedNetwork, host: str, port: int, remote: tuple[str, int]) -> None:
        self.remote = SocketAddress.of(*remote)
        options = DatagramOptions(SocketAddress.of(host, port))
        self._socket = DatagramProbe(network.host(host).open(options))

    def send(self, *datagrams: bytes) -> None:
        """Send datagrams, one call each."""
        for datagram in datagrams:
            self._socket.send([(datagram, max(len(datagram), 1))], self.remote)

    def receive(self) -> list[bytes]:
        """Return the datagrams that have arrived, in order."""
        received: list[bytes] = []
        while slots := self._socket.receive():
            received += [data for slot in slots for data in slot.datagrams]
        return received
