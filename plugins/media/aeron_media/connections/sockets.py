"""TCP sockets that listen or connect, and the network of TCP connections.

Not here: sending and receiving (`aeron_core._native.connections`).
"""

from __future__ import annotations

import errno
import os
import socket
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import SocketConnection, SocketListener, keep_alive
from aeron_core.errors import DESCRIPTOR_REMEDIES
from aeron_core.spi.media import ConnectionNetwork, ListenOptions

#: Maximum number of connections that wait to be accepted; the kernel limits it to net.core.somaxconn.
BACKLOG: Final = 1024

_REMEDIES: Final = {
    **DESCRIPTOR_REMEDIES,
    errno.EADDRINUSE: "another socket has it: close that socket, or use another port",
    errno.EADDRNOTAVAIL: "must be an address of this machine",
    errno.EACCES: "use a port from 1024, or permit the driver to use lower ones",
}


def listening_socket(options: ListenOptions) -> socket.socket:
    """Return a non-blocking TCP socket that listens at the address of `options`; raises OSError if that fails.

    An IPv6 wildcard accepts IPv6 only, so that an IPv4 wildcard can use the same port.
    """
    try:
        return _open_listener(options)
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "check the address and the port")
        text = f"cannot listen at {options.bind}: {error.strerror or error}: {remedy}"
        raise OSError(error.errno, text) from error


def _open_listener(options: ListenOptions) -> socket.socket:
    sock = socket.socket(options.bind.family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        # Lingering connections of a previous driver must not block the port.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit these options, as they do the lengths below.
        keep_alive(sock.fileno())
        if options.bind.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        # Accepted sockets inherit the buffer lengths of the listener.
        if options.sndbuf_length:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.sndbuf_length)
        if options.rcvbuf_length:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.rcvbuf_length)
        sock.bind(options.bind.as_tuple())
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def connecting_socket(peer: SocketAddress, sndbuf_length: int, rcvbuf_length: int) -> socket.socket:
    """Return a non-blocking TCP socket that is connecting to `peer`; raises OSError if it fails at once.

    The lengths are those of its buffers in bytes, 0 for the system's default.
    """
    sock = socket.socket(peer.family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        keep_alive(sock.fileno())
        # Set the lengths before connecting: the TCP handshake fixes the scale of the window.
        if sndbuf_length:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf_length)
        if rcvbuf_length:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf_length)
        # EINPROGRESS is the normal result; the socket becomes writable when the connection is made or has failed.
        code = sock.connect_ex(peer.as_tuple())
        if code not in (0, errno.EINPROGRESS):
            raise OSError(
                code,
                f"cannot connect to {peer}: {os.strerror(code)}: check that the peer listens there, and the routes of "
                "this machine",
            )
    except OSError:
        sock.close()
        raise
    return sock


class SystemConnections(ConnectionNetwork):
    """Connections and listeners over the TCP sockets of the operating system."""

    def listen(self, options: ListenOptions) -> SocketListener:
        """See `ConnectionNetwork.listen` and `listening_socket`."""
        return SocketListener(listening_socket(options))

    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> SocketConnection:
        """See `ConnectionNetwork.new_connection`."""
        return SocketConnection(sndbuf_length, rcvbuf_length)
