"""Opens Unix sockets. Not here: sending and receiving (aeron_core._native.connections)."""

from __future__ import annotations

import errno
import os
import socket
import stat

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import SocketConnection, SocketListener
from aeron_core.spi.media import ConnectionNetwork, ListenOptions
from aeron_media.connections.sockets import BACKLOG


class _PathSocket(socket.socket):
    """A listening socket whose path goes with it, unless that is another's by now."""

    def keep_path(self, path: bytes) -> None:
        """Take care of `path`, which was bound."""
        found = os.lstat(path)
        self._path = path
        self._identity = (found.st_dev, found.st_ino)

    def close(self) -> None:
        """Close the socket, and unlink its path."""
        super().close()
        path = getattr(self, "_path", b"")
        if not path:
            return
        self._path = b""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
        if (found.st_dev, found.st_ino) == self._identity:
            os.unlink(path)


def _is_dead(path: bytes) -> bool:
    """Return whether `path` is a socket that nobody listens at."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        return probe.connect_ex(path) == errno.ECONNREFUSED


def _bind(sock: _PathSocket, address: SocketAddress) -> None:
    path = address.packed
    if path.startswith(b"\0"):
        sock.bind(path)
        return
    if _is_dead(path):
        os.unlink(path)
    sock.bind(path)
    sock.keep_path(path)


def unix_listening_socket(address: SocketAddress, permissions: int | None = None) -> socket.socket:
    """Return a non-blocking socket that listens; raises OSError that names the address.

    A socket that nobody listens at any more is replaced; any other file is left alone. `permissions` are those of the
    path, else what the process makes files with.
    """
    sock = _PathSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        _bind(sock, address)
        if permissions is not None and not address.packed.startswith(b"\0"):
            # Before anybody can connect.
            os.chmod(address.packed, permissions)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"cannot listen at {address}: {error.strerror}") from error
    return sock


class UnixConnections(ConnectionNetwork):
    """The Unix sockets of the operating system."""

    def __init__(self, permissions: int | None = None) -> None:
        self._permissions = permissions

    def listen(self, options: ListenOptions) -> SocketListener:
        """See `ConnectionNetwork.listen` and `unix_listening_socket`."""
        return SocketListener(unix_listening_socket(options.bind, self._permissions))

    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> SocketConnection:
        """See `ConnectionNetwork.new_connection`."""
        return SocketConnection(sndbuf_length, rcvbuf_length)
