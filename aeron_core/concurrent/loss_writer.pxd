cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer


cdef int64_t _FULL
cdef int64_t _UNWRITTEN


@cython.final
cdef class LossReport:
    cdef AtomicBuffer _buffer
    cdef int64_t _next_offset           # where the next entry begins

    @cython.locals(offset=int64_t)
    cdef int64_t append(self, AtomicBuffer entry, int64_t reserved_length) except? -3 nogil
    cdef int32_t observe(self, int64_t offset, int64_t bytes_lost, int64_t now_ms) except -1 nogil


@cython.final
cdef class StreamLosses:
    cdef readonly int64_t offset        # offset of the entry in the report, or _UNWRITTEN, or FULL
    cdef LossReport _report
    cdef AtomicBuffer _entry            # the entry without losses, copied into the report at the first loss
    cdef int64_t _reserved_length       # bytes from this entry to the next one

    cpdef int64_t record(self, int64_t bytes_lost, int64_t now_ms) except? -3 nogil
