"""Addresses of drivers in gossip."""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress

_IP4_HEADER_LENGTH: Final = 20
_IP6_HEADER_LENGTH: Final = 40
_UDP_HEADER_LENGTH: Final = 8


class GossipPeer(NamedTuple):
    """Address on which a driver listens for gossip."""

    packed: bytes  # 4 or 16 bytes in network order
    port: int
    scope_id: int = 0

    @classmethod
    def of(cls, address: SocketAddress) -> GossipPeer:
        """Return the peer at `address`, an IPv4 or IPv6 address."""
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

    @property
    def headers_length(self) -> int:
        """Length of the IP and UDP headers of a packet to or from this address, in bytes, without options."""
        return (
            _IP4_HEADER_LENGTH if self.family == socket.AF_INET else _IP6_HEADER_LENGTH
        ) + _UDP_HEADER_LENGTH

    def socket_address(self) -> SocketAddress:
        """Return the address, port and scope as a SocketAddress."""
        return SocketAddress.of(socket.inet_ntop(self.family, self.packed), self.port, self.scope_id)
