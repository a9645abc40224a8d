"""Unix sockets that listen, and the network of Unix connections.

Not here: connecting, sending and receiving (`aeron_core._native.connections`).
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core._native.connections import SocketConnection, SocketListener
from aeron_core.errors import DESCRIPTOR_REMEDIES
from aeron_core.spi.media import ConnectionNetwork, ListenOptions
from aeron_media.connections.sockets import BACKLOG

_REMEDIES: Final = {
    **DESCRIPTOR_REMEDIES,
    errno.EADDRINUSE: "another listener or file has this address: close or remove it, or use another address",
    errno.ENOENT: "create its folder",
    errno.EACCES: "permit the driver to write to its folder",
}
#: Permissions of a path until others are set.
_OWN: Final = 0o600


class _PathSocket(socket.socket):
    """A Unix socket that removes its path on close, unless another file has replaced it."""

    def keep_path(self, path: bytes, permissions: int | None) -> None:
        """Store `path`, to which the socket was bound, and set its permissions if any are given.

        Raises OSError if the path is not a socket any more, or if permissions are given and it has another owner or
        they cannot be set.
        """
        # O_PATH and O_NOFOLLOW: in a folder that another user can change, the path may be a link to a file of the
        # driver by now.
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISSOCK(found.st_mode):
                raise OSError(
                    errno.EEXIST,
                    "it was replaced after the socket was bound to it: use a folder that only the driver can change",
                )
            # From here on `close` removes the file, also after an error.
            self._path = path
            self._identity = (found.st_dev, found.st_ino)
            if permissions is not None:
                # Some filesystems do not keep owners: without permissions to set, the owner does not matter.
                if found.st_uid != os.geteuid():
                    raise OSError(
                        errno.EEXIST,
                        f"its owner is {found.st_uid} instead of {os.geteuid()}: it was replaced, or its filesystem "
                        "does not keep owners: use another folder, or do not set permissions",
                    )
                # Through /proc: the path may be another file by now, and `fchmod` refuses a descriptor of O_PATH.
                os.chmod(f"/proc/self/fd/{descriptor}", permissions)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Close the socket, and remove its path unless that is another file now; raises OSError if that fails."""
        super().close()
        path = getattr(self, "_path", b"")
        if not path:
            return
        self._path = b""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
        # Another driver may have replaced the file meanwhile: delete only the file of this socket.
        if (found.st_dev, found.st_ino) == self._identity:
            os.unlink(path)


def _is_dead(path: bytes) -> bool:
    """Return whether `path` is a socket without a listener; raises OSError if the path cannot be examined."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        # With a full backlog the call would block; now it fails with EAGAIN: there is a listener.
        probe.setblocking(False)
        # ECONNREFUSED: no process listens at the file, for example because the listener was killed.
        return probe.connect_ex(path) == errno.ECONNREFUSED


def _bind(sock: _PathSocket, address: SocketAddress, permissions: int | None) -> None:
    path = address.packed
    # An abstract address has no file: it disappears with the socket.
    if path.startswith(b"\0"):
        sock.bind(path)
        return
    # Not atomic: a listener that replaces the dead socket between these two calls loses its path.
    if _is_dead(path):
        os.unlink(path)
    # Linux creates the file with the mode of the unbound socket, less the umask: other users have no access to it.
    os.fchmod(sock.fileno(), _OWN)
    sock.bind(path)
    sock.keep_path(path, permissions)


def unix_listening_socket(address: SocketAddress, permissions: int | None = None) -> socket.socket:
    """Return a non-blocking Unix socket that listens at `address`; raises OSError if that fails.

    Replaces a socket file without a listener, and no other file. `permissions` are the mode bits of the path, such as
    0o660; with None only this user can connect. An abstract address has no permissions.
    """
    try:
        return _open_listener(address, permissions)
    except OSError as error:
        text = f"cannot listen at {address}: {error.strerror or error}"
        # The system does not report EEXIST here: that is the error of `keep_path`, which has its own remedy.
        if error.errno != errno.EEXIST:
            text += f": {_REMEDIES.get(error.errno or 0, 'check the path')}"
        raise OSError(error.errno, text) from error


def _open_listener(address: SocketAddress, permissions: int | None) -> socket.socket:
    sock = _PathSocket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        # Permissions are set before `listen`, so that no peer can connect before they apply.
        _bind(sock, address, permissions)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


class UnixConnections(ConnectionNetwork):
    """Connections and listeners over the Unix domain sockets of the operating system."""

    def __init__(self, permissions: int | None = None) -> None:
        self._permissions = permissions

    def listen(self, options: ListenOptions) -> SocketListener:
        """See `ConnectionNetwork.listen` and `unix_listening_socket`."""
        return SocketListener(unix_listening_socket(options.bind, self._permissions))

    def new_connection(self, *, sndbuf_length: int = 0, rcvbuf_length: int = 0) -> SocketConnection:
        """See `ConnectionNetwork.new_connection`."""
        return SocketConnection(sndbuf_length, rcvbuf_length)
