cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from posix.uio cimport iovec

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer

# What `receive` and `send` return besides a number of bytes.
cpdef enum:
    CONNECTION_WAITS = 0    # nothing has come, or there is no room: try again
    CONNECTION_ENDED = -2   # the peer has said all that it had to say
    CONNECTION_FAILED = -3  # the connection is broken: `error_code` says why

# What `is_connected` returns.
cpdef enum:
    CONNECTION_CONNECTING = 0
    CONNECTION_CONNECTED = 1


cdef class ByteConnection:
    cdef public int32_t error_code  # errno of the last failure, 0 for none; whoever reports it sets it back

    # Take up to `length` bytes that have come; never blocks.
    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil
    # Send as much of `length` bytes as there is room for; never blocks.
    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil
    # The same with pieces that lie apart, one after the other; whatever one call can do, one call does.
    cdef int64_t send_vector(self, const iovec *pieces, int32_t count) except -1 nogil
    cdef int64_t _send_each(self, const iovec *pieces, int32_t count) except -1
    # Begin to connect a stream that is not open; 1, or CONNECTION_FAILED.
    cdef int32_t connect(self, SocketAddress address) except -1 nogil
    # CONNECTION_CONNECTING, CONNECTION_CONNECTED or CONNECTION_FAILED.
    cdef int32_t is_connected(self) except -1 nogil
    # Tell the peer that no more will be sent; what it sends can still be received.
    cdef int32_t end(self) except -1 nogil
    # Give the connection up; with `aborts` without delivering what was sent. The stream may be opened again.
    cdef int32_t close(self, bint aborts) except -1 nogil
    # What can be waited for until something can be received; `wire.NO_DESCRIPTOR` where there is nothing.
    cdef int32_t descriptor(self) noexcept nogil


cdef class ConnectionListener:
    cdef public int32_t error_code

    # Open `into` with the next connection, and set `peer` to who made it; 1, CONNECTION_WAITS or CONNECTION_FAILED.
    cdef int32_t accept(self, ByteConnection into, SocketAddress peer) except -1 nogil
    cdef int32_t descriptor(self) noexcept nogil


cdef class DescriptorConnection(ByteConnection):
    cdef int32_t _fd

    cdef int32_t _fail(self, int64_t result) noexcept nogil


@cython.final
cdef class SocketConnection(DescriptorConnection):
    cdef int32_t _sndbuf_length
    cdef int32_t _rcvbuf_length


@cython.final
cdef class SocketListener(ConnectionListener):
    cdef object _socket
    cdef int32_t _fd


@cython.final
cdef class PythonConnection(ByteConnection):
    cdef object _delegate
    cdef object _dial


@cython.final
cdef class PythonConnectionListener(ConnectionListener):
    cdef object _delegate
