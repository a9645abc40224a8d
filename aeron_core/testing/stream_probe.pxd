from aeron_core._native cimport streams
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.streams cimport ByteStream, StreamListener


cdef class StreamProbe:
    cdef readonly ByteStream stream
    cdef AtomicBuffer _buffer


cpdef accept(StreamListener listener)
