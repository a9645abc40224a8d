cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native cimport connections
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.connections cimport ByteConnection
from aeron_media.lumberjack._native cimport bounds, wire
from aeron_media.lumberjack.codec.acks cimport encode_ack


@cython.final
cdef class AckOutput:
    cdef readonly int64_t stuck_ns      # start of the time without progress; used unless the output is empty
    cdef AtomicBuffer _buffer
    cdef int64_t _start
    cdef int64_t _end

    cdef int32_t clear(self) noexcept nogil
    cdef bint is_empty(self) noexcept nogil
    cdef bint has_space(self) noexcept nogil
    cdef int32_t put(self, uint8_t version, uint32_t sequence, int64_t now_ns) except -1 nogil
    @cython.locals(sent=int64_t)
    cdef int64_t write(self, ByteConnection connection, int64_t now_ns) except -1 nogil
