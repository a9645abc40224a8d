"""Relayed connections: an agent that never holds the GIL uses the plain end of connections that a Python thread handles.

Agents and the relay thread pass each other descriptors over a `control` socket. The relay sends the agent's end of each
accepted connection. To connect, the agent sends one end of a new socket pair; the first byte that the relay writes to it
is the result, 0 or an errno. All other bytes on the pair belong to the peer.

To abort a connection, the agent sends the inode of its end over the control socket and closes that end. The relay
closes the pair when the connection is lost, and shuts it down for writing when the peer has ended.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import os

from aeron_core._native.address cimport SocketAddress, sockaddr_storage, socklen_t
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.connections cimport (
    CONNECTION_CONNECTED,
    CONNECTION_CONNECTING,
    CONNECTION_ENDED,
    CONNECTION_FAILED,
    CONNECTION_WAITS,
)

cdef extern from "connections.h" nogil:
    enum:
        AC_CONNECTION_ENDED
    int64_t ac_connection_receive(int fd, uint8_t *into, int64_t length)
    void ac_connection_close(int fd, bint aborts)

cdef extern from "relays.h" nogil:
    enum:
        AC_RELAY_ABORTED
    int ac_relay_give(int control, int fd, const sockaddr_storage *name, socklen_t name_length)
    int ac_relay_take(int control, sockaddr_storage *name, socklen_t *name_length)
    int ac_relay_take_any(int control, sockaddr_storage *name, socklen_t *name_length, uint64_t *inode)
    int ac_relay_abort(int control, int fd)
    int ac_relay_request(int control, const sockaddr_storage *name, socklen_t name_length)
    bint ac_relay_is_cut(int fd)

cdef extern from "<errno.h>" nogil:
    int EAGAIN, ECONNABORTED, ECONNRESET, ENOTCONN


def hand_over(int control, int descriptor, SocketAddress peer):
    """Send a descriptor to the other end of `control`; return False if the socket is full, to retry later.

    `descriptor` stays open here. `peer`: address of the connection's peer. Raises OSError for other failures.
    """
    cdef int result = ac_relay_give(control, descriptor, &peer._storage, peer._length)
    if result < 0 and result != -EAGAIN:
        raise OSError(
            -result, f"cannot pass the connection of {peer} to its agent: {os.strerror(-result)}: connect again"
        )
    return result > 0


def take_over(int control):
    """Return a descriptor, the address of its peer and the inode of the agent's end; None if no request waits.

    For an abort request the descriptor is -1 and the address unset; otherwise the caller must close it. Raises
    OSError, with EPIPE when the other end is closed.
    """
    cdef SocketAddress peer = SocketAddress()
    cdef uint64_t inode = 0
    cdef int descriptor = ac_relay_take_any(control, &peer._storage, &peer._length, &inode)
    if descriptor == -EAGAIN:
        return None
    if descriptor == AC_RELAY_ABORTED:
        return -1, peer, inode
    if descriptor < 0:
        raise OSError(
            -descriptor,
            f"cannot take a request of an agent: {os.strerror(-descriptor)}: increase the limit of open files if it is "
            "reached",
        )
    return descriptor, peer, inode


@cython.final
cdef class RelaySocket(DescriptorConnection):
    """The agent's end of a relayed connection; used by one agent. `control`: the agents' end of the control socket."""

    def __init__(self, control):
        self._control = control
        self._control_fd = control.fileno()

    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        cdef int64_t received = DescriptorConnection.receive(self, buffer, offset, length)
        if received == CONNECTION_ENDED and not self._has_ended and ac_relay_is_cut(self._fd):
            return self._fail(-ECONNRESET)
        return received

    cdef int32_t connect(self, SocketAddress address) except -1 nogil:
        cdef int result
        self.close(False)
        self.error_code = 0
        result = ac_relay_request(self._control_fd, &address._storage, address._length)
        if result < 0:
            return self._fail(result)
        self._fd = result
        self._is_answered = False
        self._has_ended = False
        return 1

    cdef int32_t is_connected(self) except -1 nogil:
        cdef uint8_t answer = 0
        cdef int64_t received
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        if self._is_answered:
            return CONNECTION_CONNECTED
        received = ac_connection_receive(self._fd, &answer, 1)
        if received == CONNECTION_WAITS:
            return CONNECTION_CONNECTING
        if received == AC_CONNECTION_ENDED:
            return self._fail(-ECONNABORTED)
        if received < 0:
            return self._fail(received)
        if answer != 0:
            return self._fail(-<int64_t>answer)
        self._is_answered = True
        return CONNECTION_CONNECTED

    cdef int32_t end(self) except -1 nogil:
        self._has_ended = True
        return DescriptorConnection.end(self)

    cdef int32_t close(self, bint aborts) except -1 nogil:
        if self._fd >= 0 and aborts:
            # Before closing, so that the relay finds the request when it detects the hang-up. If the control socket is
            # full, the connection ends normally instead.
            ac_relay_abort(self._control_fd, self._fd)
        return DescriptorConnection.close(self, False)


@cython.final
cdef class RelayListener(ConnectionListener):
    """Listener for the connections that a relay hands over; its method `close` calls the argument `close` first."""

    def __init__(self, control, SocketAddress local, close):
        self._control = control
        self._control_fd = control.fileno()
        self._local = local
        self._close = close

    cdef int32_t accept(self, ByteConnection into, SocketAddress peer) except -1 nogil:
        cdef int fd = ac_relay_take(self._control_fd, &peer._storage, &peer._length)
        if fd == -EAGAIN:
            return CONNECTION_WAITS
        if fd < 0:
            self.error_code = -fd
            return CONNECTION_FAILED
        (<RelaySocket>into).error_code = 0
        (<RelaySocket>into)._fd = fd
        (<RelaySocket>into)._is_answered = True
        (<RelaySocket>into)._has_ended = False
        return 1

    cdef int32_t descriptor(self) noexcept nogil:
        return self._control_fd

    def new_connection(self):
        """Return a new RelaySocket, the class that `accept` requires."""
        return RelaySocket(self._control)

    def local_address(self):
        """Return a copy of the address at which the relay listens."""
        return self._local.copy()

    def close(self):
        """Stop the relay from accepting, and close connections that were not accepted here."""
        cdef int fd
        cdef SocketAddress peer = SocketAddress()
        self._close()
        while True:
            fd = ac_relay_take(self._control_fd, &peer._storage, &peer._length)
            if fd < 0:
                break
            ac_connection_close(fd, False)
