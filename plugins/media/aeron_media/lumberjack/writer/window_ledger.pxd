cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media.lumberjack._native cimport sentinels


@cython.final
cdef class WindowLedger:
    cdef readonly int64_t confirmed       # position up to which all is acknowledged
    cdef readonly int64_t drawn           # end of the last part; what follows in the log is not sent yet
    cdef int32_t _capacity
    cdef int32_t _size
    cdef AtomicBuffer _ends               # end position of each part, int64
    cdef AtomicBuffer _owners

    cpdef int32_t begin(self, int64_t position) except -1 nogil
    @cython.locals(at=int32_t)
    cpdef int64_t next_begin(self) except? -1 nogil
    @cython.locals(at=int32_t)
    cpdef int64_t next_end(self) except? -1 nogil
    cpdef bint has_space(self) noexcept nogil
    @cython.locals(at=int32_t)
    cpdef int32_t take(self, int64_t end, int64_t owner) except -1 nogil
    @cython.locals(index=int32_t)
    cpdef int32_t complete(self, int64_t end) except -1 nogil
    @cython.locals(index=int32_t)
    cpdef int32_t give_back(self, int64_t owner) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _first_lost(self) except? -1 nogil
    cdef int64_t _begin_of(self, int32_t index) except? -1 nogil
    cdef int32_t _put(self, int32_t index, int64_t end, int64_t owner) except -1 nogil
    @cython.locals(length=int64_t)
    cdef int32_t _open_gap(self, int32_t at) except -1 nogil
    @cython.locals(kept=int32_t, index=int32_t, end=int64_t, owner=int64_t)
    cdef int32_t _tidy(self) except -1 nogil
