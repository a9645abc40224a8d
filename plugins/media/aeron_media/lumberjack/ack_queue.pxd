cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media.lumberjack._native cimport bounds


@cython.final
cdef class AckQueue:
    cdef readonly int32_t size
    cdef int32_t _first
    cdef AtomicBuffer _positions    # the four rings have one int64 per window
    cdef AtomicBuffer _sequences
    cdef AtomicBuffer _versions
    cdef AtomicBuffer _totals

    cpdef int32_t clear(self) noexcept nogil
    cpdef bint is_full(self) noexcept nogil
    @cython.locals(at=int64_t)
    cpdef int32_t push(self, uint8_t version, uint32_t sequence, int64_t position, int64_t total) except -1 nogil
    @cython.locals(at=int64_t)
    cpdef int32_t raise_last(self, uint32_t sequence, int64_t position, int64_t total) except -1 nogil
    cpdef int64_t position(self) except -1 nogil
    cpdef int64_t sequence(self) except -1 nogil
    cpdef int64_t version(self) except -1 nogil
    cpdef int64_t total(self) except -1 nogil
    cpdef int32_t pop(self) noexcept nogil
