"""Packet channel: packets as bytes over a socket or a simulated network; for gossip, not for streams."""

from __future__ import annotations

from typing import Final

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core._native.buffer import AtomicBuffer
from aeron_core._native.datagrams import DatagramChannel, ReceiveBatch, SendBatch

#: SPI version that this module was compiled against.
AERON_CORE_SPI_VERSION: Final = wire.SPI_VERSION

_MAX_PACKET_LENGTH: Final = 65507  # maximum payload of UDP over IPv4
_SLOTS: Final = 4


class PacketChannel:
    """Channel of packets of at most 65507 bytes; used by one thread."""

    def __init__(self, channel: DatagramChannel) -> None:
        self._channel = channel
        self._received = ReceiveBatch(_SLOTS)
        self._outgoing = SendBatch()
        self._packet = AtomicBuffer.allocate(_MAX_PACKET_LENGTH)

    def receive(self) -> list[tuple[bytes, SocketAddress]]:
        """Return at most 4 pending packets as pairs (bytes, source); an empty list if there are none."""
        packets = []
        for slot in range(self._channel.receive(self._received)):
            source = SocketAddress()
            self._received.copy_source(slot, source)
            data = self._received.buffer.get_bytes(
                self._received.offset_of(slot), self._received.length_of(slot)
            )
            packets.append((data, source))
        return packets

    def send(self, data: bytes, destination: SocketAddress) -> bool:
        """Send one packet; return whether the socket accepted it. Raises IndexError above 65507 bytes."""
        length = self._packet.put_bytes(0, data)
        self._outgoing.clear()
        self._outgoing.add(self._packet, 0, length, length)
        return self._channel.send(self._outgoing, destination) == 1

    def take_error(self) -> int:
        """Return and clear the errno of the last failure; 0 if there was none."""
        code = self._channel.error_code
        self._channel.error_code = 0
        return code

    def local_address(self) -> SocketAddress:
        """Return the bound address."""
        return self._channel.local_address()

    def close(self) -> None:
        """Close the channel; call no other method afterwards."""
        self._channel.close()
