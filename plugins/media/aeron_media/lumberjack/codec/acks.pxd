cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media.lumberjack._native cimport faults, wire


cpdef int32_t encode_ack(AtomicBuffer buffer, int64_t offset, uint8_t version, uint32_t sequence) except -1 nogil


@cython.final
cdef class AckParser:
    cdef readonly uint8_t version         # of the last acknowledgement
    cdef readonly uint32_t sequence       # of the last acknowledgement; 0 is a keep-alive
    cdef readonly int32_t fault           # `faults`
    cdef readonly int64_t fault_value     # value received
    cdef readonly int64_t fault_limit     # always 0

    cpdef int32_t reset(self) noexcept nogil
    @cython.locals(version=uint8_t)
    cpdef int64_t parse(self, AtomicBuffer buffer, int64_t offset, int64_t length) except? -1 nogil
    cdef int64_t _set_fault(self, int32_t fault, int64_t value) noexcept nogil
