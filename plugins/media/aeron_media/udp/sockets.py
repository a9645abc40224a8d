"""UDP sockets: opening, and detection of kernel features.

Not here: sending and receiving (aeron_core._native.datagrams).
Source: aeron_udp_channel_transport.c.
"""

from __future__ import annotations

import errno
import functools
import os
import socket
import struct
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import UdpSocket
from aeron_core.spi.media import DatagramOptions
from aeron_media.udp.interfaces import is_multicast

SOL_UDP: Final = socket.IPPROTO_UDP
# Source: include/uapi/linux/udp.h; missing in Python's socket module.
UDP_SEGMENT: Final = 103
UDP_GRO: Final = 104
# Source: include/uapi/linux/in.h, in6.h; missing as well.
IP_MULTICAST_ALL: Final = 49
IPV6_MULTICAST_ALL: Final = 29
# Source: include/uapi/asm-generic/socket.h.
SO_TIMESTAMPNS: Final = 35

_PROBE_TIMEOUT_S: Final = 0.5  # invented: loopback takes microseconds


def open_datagrams(options: DatagramOptions) -> UdpSocket:
    """Return a socket that is bound, and connected if requested; raise OSError that names the address."""
    sock = socket.socket(options.bind.family, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        _set_lengths(sock, options)
        if options.wants_gro and detect_gro():
            sock.setsockopt(SOL_UDP, UDP_GRO, 1)
        if options.wants_media_timestamps:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if is_multicast(options.bind):
            _join(sock, options)
        else:
            _bind(sock, options.bind)
        if options.interface is not None:
            _set_multicast_interface(sock, options.interface, options)
        if options.connect is not None:
            _connect(sock, options.connect)
    except BaseException:
        sock.close()
        raise
    uses_gso = options.wants_gso and detect_gso()
    return UdpSocket(sock, is_connected=options.connect is not None, uses_gso=uses_gso)


@functools.cache
def detect_gso() -> bool:
    """Return whether the kernel supports UDP_SEGMENT (GSO); tested once, over loopback."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        try:
            receiver.bind(("127.0.0.1", 0))
            receiver.settimeout(_PROBE_TIMEOUT_S)
            segment = [(SOL_UDP, UDP_SEGMENT, struct.pack("=H", 2))]
            sender.sendmsg([b"abcd"], segment, 0, receiver.getsockname())
            return [receiver.recv(8), receiver.recv(8)] == [b"ab", b"cd"]
        except OSError:
            return False


@functools.cache
def detect_gro() -> bool:
    """Return whether the kernel supports UDP_GRO; tested once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.setsockopt(SOL_UDP, UDP_GRO, 1)
        except OSError:
            return False
        return True


def _set_lengths(sock: socket.socket, options: DatagramOptions) -> None:
    for option, length in (
        (socket.SO_SNDBUF, options.sndbuf_length),
        (socket.SO_RCVBUF, options.rcvbuf_length),
    ):
        if length > 0:
            sock.setsockopt(socket.SOL_SOCKET, option, length)


def _set_multicast_interface(sock: socket.socket, interface: SocketAddress, options: DatagramOptions) -> None:
    if interface.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, options.interface_index)
        if options.multicast_ttl > 0:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, options.multicast_ttl)
        return
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface.packed)
    if options.multicast_ttl > 0:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, options.multicast_ttl)


def _join(sock: socket.socket, options: DatagramOptions) -> None:
    group = options.bind
    # Several sockets on this machine may join the group on the same port.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    is_ipv6 = group.family == socket.AF_INET6
    _receive_joined_groups_only(sock, is_ipv6=is_ipv6)
    _bind(sock, SocketAddress.of("::" if is_ipv6 else "0.0.0.0", group.port))
    try:
        if is_ipv6:
            member = group.packed + struct.pack("=i", options.interface_index)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
        else:
            by = bytes(4) if options.interface is None else options.interface.packed
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group.packed + by)
    except OSError as error:
        raise OSError(error.errno, f"cannot join {group} on {options.interface}: {_text(error)}") from None


def _receive_joined_groups_only(sock: socket.socket, *, is_ipv6: bool) -> None:
    # By default Linux also delivers datagrams of groups that other sockets on this machine have joined.
    level, option = (
        (socket.IPPROTO_IPV6, IPV6_MULTICAST_ALL) if is_ipv6 else (socket.IPPROTO_IP, IP_MULTICAST_ALL)
    )
    try:
        sock.setsockopt(level, option, 0)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise


def _bind(sock: socket.socket, address: SocketAddress) -> None:
    try:
        sock.bind(address.as_tuple())
    except OSError as error:
        hint = ": another socket has it" if error.errno == errno.EADDRINUSE else ""
        raise OSError(error.errno, f"cannot bind {address}: {_text(error)}{hint}") from None


def _connect(sock: socket.socket, address: SocketAddress) -> None:
    try:
        sock.connect(address.as_tuple())
    except OSError as error:
        raise OSError(error.errno, f"cannot connect to {address}: {_text(error)}") from None


def _text(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
