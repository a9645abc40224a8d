from aeron_core._native cimport connections
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.connections cimport ByteConnection, ConnectionListener


cdef class ConnectionProbe:
    cdef readonly ByteConnection connection
    cdef AtomicBuffer _buffer


cpdef accept(ConnectionListener listener)
