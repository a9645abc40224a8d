cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from posix.uio cimport iovec

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer

# Results of `receive` and `send` other than a number of bytes.
cpdef enum:
    CONNECTION_WAITS = 0    # nothing received, or the send buffer is full: retry
    CONNECTION_ENDED = -2   # the peer has closed its sending side
    CONNECTION_FAILED = -3  # the connection is broken: see `error_code`

# Results of `is_connected`, in addition to CONNECTION_FAILED.
cpdef enum:
    CONNECTION_CONNECTING = 0
    CONNECTION_CONNECTED = 1


cdef class ByteConnection:
    cdef public int32_t error_code  # errno of the last failure; reset to 0 by the code that reports it

    # Receive up to `length` bytes without blocking; return how many, or CONNECTION_WAITS, CONNECTION_ENDED or
    # CONNECTION_FAILED.
    cdef int64_t receive(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil
    # Send up to `length` bytes without blocking; return how many, or CONNECTION_WAITS or CONNECTION_FAILED.
    cdef int64_t send(self, AtomicBuffer buffer, int64_t offset, int64_t length) except -1 nogil
    # Send several pieces of memory, one after the other, in one system call if possible; return the same as `send`.
    cdef int64_t send_vector(self, const iovec *pieces, int32_t count) except -1 nogil
    cdef int64_t _send_each(self, const iovec *pieces, int32_t count) except -1
    # Begin to connect a connection that is not open; return 1 or CONNECTION_FAILED.
    cdef int32_t connect(self, SocketAddress address) except -1 nogil
    # Return CONNECTION_CONNECTING, CONNECTION_CONNECTED or CONNECTION_FAILED.
    cdef int32_t is_connected(self) except -1 nogil
    # Close the sending side; the peer's data can still be received.
    cdef int32_t end(self) except -1 nogil
    # Close the connection; with `aborts`, discard data that was not yet sent. The object may be opened again.
    cdef int32_t close(self, bint aborts) except -1 nogil
    # Return the descriptor that becomes readable when data, the end of the stream or an error is waiting, or
    # `wire.NO_DESCRIPTOR`.
    cdef int32_t descriptor(self) noexcept nogil


cdef class ConnectionListener:
    cdef public int32_t error_code

    # Open `into` with the next connection and set `peer` to its address; return 1, CONNECTION_WAITS or
    # CONNECTION_FAILED.
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
