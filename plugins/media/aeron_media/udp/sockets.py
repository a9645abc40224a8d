"""UDP sockets: opening.

Not here: sending and receiving (aeron_core._native.datagrams), and detection of offload (aeron_core.spi.udp_offload).
Source: aeron_udp_channel_transport.c.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.datagrams import UdpSocket
from aeron_core.errors import DESCRIPTOR_REMEDIES
from aeron_core.spi.media import DatagramOptions
from aeron_core.spi.udp_offload import SOL_UDP, UDP_GRO, detect_gro, detect_gso
from aeron_media.udp.interfaces import is_multicast

# Source: include/uapi/linux/in.h, in6.h; missing in Python's socket module.
IP_MULTICAST_ALL: Final = 49
IPV6_MULTICAST_ALL: Final = 29
# Source: include/uapi/asm-generic/socket.h.
SO_TIMESTAMPNS: Final = 35

_SOCKET_LENGTH_REMEDY: Final = "change so-sndbuf= or so-rcvbuf= of the channel, or the default of the driver"
_INTERFACE_REMEDY: Final = "let interface= select an interface that is up and supports multicast"
#: By level and name of the option.
_OPTION_REMEDIES: Final = {
    (socket.SOL_SOCKET, socket.SO_SNDBUF): _SOCKET_LENGTH_REMEDY,
    (socket.SOL_SOCKET, socket.SO_RCVBUF): _SOCKET_LENGTH_REMEDY,
    (socket.IPPROTO_IP, socket.IP_MULTICAST_IF): _INTERFACE_REMEDY,
    (socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP): _INTERFACE_REMEDY,
    (socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF): _INTERFACE_REMEDY,
    (socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP): _INTERFACE_REMEDY,
}
_SYSTEM_REMEDY: Final = "use a system that has this option, and permit it to the driver"
_BIND_REMEDIES: Final = {
    errno.EADDRINUSE: "another socket has it: close that socket, or use another port",
    errno.EADDRNOTAVAIL: "must be an address of this machine",
    errno.EACCES: "use a port from 1024, or permit the driver to use lower ones",
}


def open_datagrams(options: DatagramOptions) -> UdpSocket:
    """Return a non-blocking socket that is bound or has joined its group, and is connected if requested.

    Raises OSError if the system refuses the socket, an option or an address.
    """
    try:
        return _open(options)
    except OSError as error:
        remedy = DESCRIPTOR_REMEDIES.get(error.errno or 0)
        if remedy is None:
            raise
        text = f"cannot open a UDP socket for {options.bind}: {_text(error)}: {remedy}"
        raise OSError(error.errno, text) from None


def _open(options: DatagramOptions) -> UdpSocket:
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
        # The detection opens sockets, too: it fails if no descriptor is left.
        uses_gso = options.wants_gso and detect_gso()
        return UdpSocket(sock, is_connected=options.connect is not None, uses_gso=uses_gso)
    except BaseException:
        sock.close()
        raise


def _set_lengths(sock: socket.socket, options: DatagramOptions) -> None:
    for option, name, length in (
        (socket.SO_SNDBUF, "SO_SNDBUF", options.sndbuf_length),
        (socket.SO_RCVBUF, "SO_RCVBUF", options.rcvbuf_length),
    ):
        if length > 0:
            _set(sock, socket.SOL_SOCKET, option, length, f"SOL_SOCKET/{name} option to: {length}")


def _set(sock: socket.socket, level: int, option: int, value: int | bytes, text: str) -> None:
    """Set a socket option; raises OSError with `text`, which names it and its value, as the reference does."""
    try:
        sock.setsockopt(level, option, value)
    except OSError as error:
        remedy = _OPTION_REMEDIES.get((level, option), _SYSTEM_REMEDY)
        raise OSError(error.errno, f"failed to set {text}: {_text(error)}: {remedy}") from None


def _set_multicast_interface(sock: socket.socket, interface: SocketAddress, options: DatagramOptions) -> None:
    ttl = options.multicast_ttl
    if interface.family == socket.AF_INET6:
        level, index = socket.IPPROTO_IPV6, options.interface_index
        _set(
            sock, level, socket.IPV6_MULTICAST_IF, index, f"IPPROTO_IPV6/IPV6_MULTICAST_IF option to: {index}"
        )
        if ttl > 0:
            _set(
                sock,
                level,
                socket.IPV6_MULTICAST_HOPS,
                ttl,
                f"IPPROTO_IPV6/IPV6_MULTICAST_HOPS option to: {ttl}",
            )
        return
    level, text = socket.IPPROTO_IP, f"IPPROTO_IP/IP_MULTICAST_IF option to: {interface.host}"
    _set(sock, level, socket.IP_MULTICAST_IF, interface.packed, text)
    if ttl > 0:
        _set(sock, level, socket.IP_MULTICAST_TTL, ttl, f"IPPROTO_IP/IP_MULTICAST_TTL option to: {ttl}")


def _join(sock: socket.socket, options: DatagramOptions) -> None:
    group = options.bind
    # Several sockets on this machine may join the group on the same port.
    _set(sock, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1, "SOL_SOCKET/SO_REUSEADDR option to: 1")
    _set(sock, socket.SOL_SOCKET, socket.SO_REUSEPORT, 1, "SOL_SOCKET/SO_REUSEPORT option to: 1")
    is_ipv6 = group.family == socket.AF_INET6
    _receive_joined_groups_only(sock, is_ipv6=is_ipv6)
    _bind(sock, SocketAddress.of("::" if is_ipv6 else "0.0.0.0", group.port))
    if is_ipv6:
        index = options.interface_index
        text = (
            f"IPPROTO_IPV6/IPV6_JOIN_GROUP option to: "
            f"struct ipv6_mreq{{.ipv6mr_multiaddr={group.host}, .ipv6mr_interface={index}}}"
        )
        member = group.packed + struct.pack("=i", index)
        _set(sock, socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member, text)
    else:
        by = SocketAddress.of("0.0.0.0", 0) if options.interface is None else options.interface
        text = (
            f"IPPROTO_IP/IP_ADD_MEMBERSHIP option to: "
            f"struct ip_mreq{{.imr_multiaddr={group.host}, .imr_interface={by.host}}}"
        )
        _set(sock, socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group.packed + by.packed, text)


def _receive_joined_groups_only(sock: socket.socket, *, is_ipv6: bool) -> None:
    # By default Linux also delivers datagrams of groups that other sockets on this machine have joined.
    level, option, name = (
        (socket.IPPROTO_IPV6, IPV6_MULTICAST_ALL, "IPPROTO_IPV6/IPV6_MULTICAST_ALL")
        if is_ipv6
        else (socket.IPPROTO_IP, IP_MULTICAST_ALL, "IPPROTO_IP/IP_MULTICAST_ALL")
    )
    try:
        _set(sock, level, option, 0, f"{name} option to: 0")
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise


def _bind(sock: socket.socket, address: SocketAddress) -> None:
    try:
        sock.bind(address.as_tuple())
    except OSError as error:
        remedy = _BIND_REMEDIES.get(error.errno or 0, "check the address and the port")
        raise OSError(error.errno, f"failed to bind to address {address}: {_text(error)}: {remedy}") from None


def _connect(sock: socket.socket, address: SocketAddress) -> None:
    # Compared here, because Python reports an address of another family as a failed name lookup.
    code = errno.EAFNOSUPPORT if address.family != sock.family else 0
    try:
        if code == 0:
            sock.connect(address.as_tuple())
    except OSError as error:
        code = error.errno or errno.EINVAL
    if code:
        remedy = (
            "the addresses of both ends must be IPv4, or both IPv6"
            if code == errno.EAFNOSUPPORT
            else "check this address, and the routes of this machine"
        )
        raise OSError(code, f"failed to connect to address: {address}: {os.strerror(code)}: {remedy}")


def _text(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)
