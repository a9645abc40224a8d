"""Byte connections: stream sockets, or a Python object that simulates one.

A connection object is opened and closed many times, so that a new connection allocates nothing. The C methods return
failures of the peer or of the operating system as results, with `error_code` set, instead of raising OSError.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from posix.uio cimport iovec


import os

from aeron_core._native cimport wire
from aeron_core._native.address cimport AF_UNIX, SocketAddress, sockaddr_storage, socklen_t
from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "connections.h" nogil:
    enum:
        AC_CONNECTION_ENDED
    int64_t ac_connection_receive(int fd, uint8_t *into, int64_t length)
    int64_t ac_connection_send(int fd, const uint8_t *source, int64_t length)
    int64_t ac_connection_send_vector(int fd, const iovec *pieces, int count)
    void ac_connection_keep_alive(int fd)
    int64_t ac_connection_end_if_vanished(int fd, int64_t timeout_ms, int64_t since_ms)
    enum:
        AC_PEER_VANISHED
    int ac_connection_accept(int fd, sockaddr_storage *name, socklen_t *name_length)
    bint ac_descriptor_is_reserved(int fd)
    void ac_connection_send_at_once(int fd)
    int ac_connection_connect(const sockaddr_storage *name, socklen_t name_length, int sndbuf, int rcvbuf)
    int ac_connection_is_connected(int fd)
    void ac_connection_close(int fd, bint aborts)
    void ac_connection_end(int fd)

cdef extern from "<errno.h>" nogil:
    int EAGAIN, ENOTCONN


def is_reserved_descriptor(int descriptor):
    """Return whether `descriptor` is in the highest eighth of the limit of open files.

    An accepted connection must not use such a descriptor: the driver needs the last ones for streams.
    """
    return ac_descriptor_is_reserved(descriptor)


#: Result of `end_if_vanished` if the connection was shut down.
PEER_VANISHED = AC_PEER_VANISHED


def keep_alive(int descriptor):
    """Have the kernel end a TCP connection about half a minute after its peer has vanished while nothing was sent.

    Connections that a listener accepts inherit this. No effect on other sockets.
    """
    ac_connection_keep_alive(descriptor)


def end_if_vanished(int descriptor, int64_t timeout_ms, int64_t since_ms):
    """Shut a TCP connection down if its peer has vanished; call it at regular intervals.

    A peer has vanished if the kernel has repeated data for it, or probes of its closed window, and for `timeout_ms`
    neither data nor an acknowledgement arrived. `since_ms` is the result of the last call for this connection, 0 at
    first: PEER_VANISHED, 0 if no answer is missing or a connection is being made, otherwise the time since which one
    has been missing. Any thread may call this while the descriptor is open.
    """
    return ac_connection_end_if_vanished(descriptor, timeout_ms, since_ms)


cdef class ByteConnection:
    """A connection; used by one thread. Subclasses implement the C methods."""

    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        return _refuse()

    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        return _refuse()

    cdef int64_t send_vector(self, const iovec *pieces, int32_t count) except -1 nogil:
        with gil:
            return self._send_each(pieces, count)

    cdef int64_t _send_each(self, const iovec *pieces, int32_t count) except -1:
        cdef int64_t total = 0
        cdef int64_t sent
        cdef int32_t i
        for i in range(count):
            piece = AtomicBuffer.wrap(<uint8_t *>pieces[i].iov_base, pieces[i].iov_len, None, True)
            sent = self.send(piece, 0, piece.capacity)
            if sent < 0:
                # Report the bytes that were sent: the next call fails again and reports the failure.
                return total if total > 0 else sent
            total += sent
            if sent < piece.capacity:
                break
        return total

    cdef int32_t connect(self, SocketAddress address) except -1 nogil:
        return _refuse()

    cdef int32_t is_connected(self) except -1 nogil:
        return _refuse()

    cdef int32_t end(self) except -1 nogil:
        return _refuse()

    cdef int32_t close(self, bint aborts) except -1 nogil:
        return _refuse()

    cdef int32_t descriptor(self) noexcept nogil:
        return wire.NO_DESCRIPTOR


cdef class ConnectionListener:
    """Accepts connections. Used by one thread, unless a method states otherwise."""

    cdef int32_t accept(self, ByteConnection into, SocketAddress peer) except -1 nogil:
        return _refuse()

    cdef int32_t descriptor(self) noexcept nogil:
        return wire.NO_DESCRIPTOR

    def new_connection(self):
        """Return a connection object that `accept` can open."""
        raise NotImplementedError(f"{type(self).__name__} does not create connections: override new_connection")

    def local_address(self):
        """Return the address that the listener is bound to, none in this base class; any thread may call it."""
        return SocketAddress()

    def close(self):
        """Stop accepting connections; those that were accepted stay open."""


cdef int _refuse() except -1 nogil:
    with gil:
        raise NotImplementedError(
            "this method of ByteConnection or ConnectionListener is abstract: use a subclass that overrides it"
        )


cdef class DescriptorConnection(ByteConnection):
    """A connection with a file descriptor: sends and receives; subclasses open it."""

    def __cinit__(self, *args, **kwargs):
        self._fd = wire.NO_DESCRIPTOR

    def __dealloc__(self):
        if self._fd >= 0:
            ac_connection_close(self._fd, False)

    cdef int32_t _fail(self, int64_t result) noexcept nogil:
        self.error_code = <int32_t>-result
        return CONNECTION_FAILED

    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        cdef int64_t received
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        received = ac_connection_receive(self._fd, buffer.at(offset, length), length)
        if received >= 0:
            return received
        return CONNECTION_ENDED if received == AC_CONNECTION_ENDED else self._fail(received)

    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        cdef int64_t sent
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        sent = ac_connection_send(self._fd, buffer.at(offset, length), length)
        return sent if sent >= 0 else self._fail(sent)

    cdef int64_t send_vector(self, const iovec *pieces, int32_t count) except -1 nogil:
        cdef int64_t sent
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        sent = ac_connection_send_vector(self._fd, pieces, count)
        return sent if sent >= 0 else self._fail(sent)

    cdef int32_t end(self) except -1 nogil:
        if self._fd >= 0:
            ac_connection_end(self._fd)
        return 0

    cdef int32_t close(self, bint aborts) except -1 nogil:
        if self._fd >= 0:
            ac_connection_close(self._fd, aborts)
            self._fd = wire.NO_DESCRIPTOR
        return 0

    cdef int32_t descriptor(self) noexcept nogil:
        return self._fd


@cython.final
cdef class SocketConnection(DescriptorConnection):
    """A TCP or Unix stream socket; lengths of socket buffers are bytes, 0 for the system's default."""

    def __cinit__(self, int32_t sndbuf_length=0, int32_t rcvbuf_length=0):
        self._sndbuf_length = sndbuf_length
        self._rcvbuf_length = rcvbuf_length

    cdef int32_t connect(self, SocketAddress address) except -1 nogil:
        cdef int result
        self.close(False)
        self.error_code = 0
        result = ac_connection_connect(
            &address._storage, address._length, self._sndbuf_length, self._rcvbuf_length
        )
        if result < 0:
            return self._fail(result)
        self._fd = result
        return 1

    cdef int32_t is_connected(self) except -1 nogil:
        cdef int result
        if self._fd < 0:
            return self._fail(-ENOTCONN)
        result = ac_connection_is_connected(self._fd)
        if result < 0:
            return self._fail(result)
        return CONNECTION_CONNECTED if result else CONNECTION_CONNECTING


@cython.final
cdef class SocketListener(ConnectionListener):
    """A listening, non-blocking socket of Python's `socket` module, which this object keeps open."""

    def __init__(self, sock):
        self._socket = sock
        self._fd = sock.fileno()

    cdef int32_t accept(self, ByteConnection into, SocketAddress peer) except -1 nogil:
        cdef int fd = ac_connection_accept(self._fd, &peer._storage, &peer._length)
        if fd < 0:
            if fd == -EAGAIN:
                return CONNECTION_WAITS
            self.error_code = -fd
            return CONNECTION_FAILED
        ac_connection_send_at_once(fd)
        ac_connection_keep_alive(fd)
        (<SocketConnection>into).error_code = 0
        (<SocketConnection>into)._fd = fd
        return 1

    cdef int32_t descriptor(self) noexcept nogil:
        return self._fd

    def new_connection(self):
        """Return a closed connection, with the system's lengths of socket buffers, that `accept` can open."""
        return SocketConnection()

    def local_address(self):
        """Return the address that the socket is bound to; raise OSError if it is closed."""
        name = self._socket.getsockname()
        if self._socket.family == AF_UNIX:
            return SocketAddress.unix(os.fsencode(name))
        host, port, *rest = name
        return SocketAddress.of(host, port, rest[1] if rest else 0)

    def close(self):
        """Close the socket; connections that were accepted stay open."""
        # Reset the descriptor first: once it is closed, the kernel may reuse its number for another socket.
        self._fd = wire.NO_DESCRIPTOR
        self._socket.close()


@cython.final
cdef class PythonConnection(ByteConnection):
    """A `ConnectionDelegate` of Python, such as a simulation, as a connection. Takes the GIL for each call.

    `dial` creates such an object for an address; without it `connect` cannot be used.
    """

    def __init__(self, dial=None):
        self._dial = dial

    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        with gil:
            try:
                data = self._delegate.receive(length)
            except OSError as error:
                self.error_code = error.errno
                return CONNECTION_FAILED
            if data is None:
                return CONNECTION_WAITS
            buffer.put_bytes(offset, data)
            return len(data) or CONNECTION_ENDED

    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil:
        with gil:
            try:
                return self._delegate.send(buffer.get_bytes(offset, length))
            except OSError as error:
                self.error_code = error.errno
                return CONNECTION_FAILED

    cdef int32_t connect(self, SocketAddress address) except -1 nogil:
        with gil:
            self.error_code = 0
            self._delegate = self._dial(address.copy())
            return 1

    cdef int32_t is_connected(self) except -1 nogil:
        with gil:
            try:
                return CONNECTION_CONNECTED if self._delegate.is_connected() else CONNECTION_CONNECTING
            except OSError as error:
                self.error_code = error.errno
                return CONNECTION_FAILED

    cdef int32_t end(self) except -1 nogil:
        with gil:
            self._delegate.end()
            return 0

    cdef int32_t close(self, bint aborts) except -1 nogil:
        with gil:
            if self._delegate is not None:
                self._delegate.close(aborts)
                self._delegate = None
            return 0


@cython.final
cdef class PythonConnectionListener(ConnectionListener):
    """A `ListenerDelegate` of Python, such as a simulation, as a listener. Takes the GIL for each call."""

    def __init__(self, delegate):
        self._delegate = delegate

    cdef int32_t accept(self, ByteConnection into, SocketAddress peer) except -1 nogil:
        with gil:
            accepted = self._delegate.accept()
            if accepted is None:
                return CONNECTION_WAITS
            delegate, address = accepted
            (<PythonConnection>into)._delegate = delegate
            (<PythonConnection>into).error_code = 0
            peer.assign(<SocketAddress>address)
            return 1

    def new_connection(self):
        """Return a connection for an object that the delegate accepts."""
        return PythonConnection()

    def local_address(self):
        """Return the address that the delegate is bound to."""
        return self._delegate.local_address()

    def close(self):
        """Close the delegate."""
        self._delegate.close()
