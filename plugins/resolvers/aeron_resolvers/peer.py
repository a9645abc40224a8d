"""Addresses of drivers in gossip."""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress

_IP4_HEADER_LENGTH: Final = 20
_IP6_HEADER_LENGTH: Final = 40
_UDP_HEADER_LENGTH: Final = 8
_IP4_LINK_LOCAL_PREFIX: Final = bytes((169, 254))
_IP4_MAPPED_PREFIX: Final = bytes(10) + b"\xff\xff"
_BROADCAST: Final = b"\xff\xff\xff\xff"


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
        """Whether the address is a wildcard (all zeros): the driver then listens on all interfaces."""
        return not any(self.packed)

    @property
    def is_link_local(self) -> bool:
        """Whether the address is valid on one link only: in 169.254.0.0/16 or fe80::/10."""
        if self.family == socket.AF_INET:
            return self.packed.startswith(_IP4_LINK_LOCAL_PREFIX)
        return self.packed[0] == 0xFE and self.packed[1] & 0xC0 == 0x80

    @property
    def is_one_host(self) -> bool:
        """Whether the address is neither a multicast address nor 255.255.255.255, as IPv4 or mapped to IPv6."""
        packed = (
            self.packed.removeprefix(_IP4_MAPPED_PREFIX) if self.family == socket.AF_INET6 else self.packed
        )
        if len(packed) == wire.RES_IP4_ADDRESS_LENGTH:
            return packed[0] & 0xF0 != 0xE0 and packed != _BROADCAST
        return packed[0] != 0xFF

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
