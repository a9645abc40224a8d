cimport cython
from libc.stdint cimport int64_t

from aeron_core._native.buffer cimport AtomicBuffer

cdef int64_t _ID
cdef int64_t _LIMIT
cdef int64_t _TIME
cdef int64_t _ENDED
cdef int64_t _RECORD_LENGTH


@cython.final
cdef class Receivers:
    cdef readonly int64_t count
    cdef AtomicBuffer _records      # four int64 for each receiver: id, limit, time and end flag

    @cython.locals(index=int64_t)
    cpdef int64_t find(self, int64_t receiver_id) except -2 nogil
    cpdef int add(self, int64_t receiver_id, int64_t limit, int64_t now_ns) except -1 nogil
    @cython.locals(record=int64_t)
    cpdef int update(self, int64_t index, int64_t limit, bint has_ended, int64_t now_ns) except -1 nogil
    cpdef int end(self, int64_t index) except -1 nogil
    @cython.locals(forgotten=int64_t, index=int64_t, record=int64_t)
    cpdef int64_t forget(self, int64_t silent_since_ns) except -1 nogil
    @cython.locals(lowest=int64_t, index=int64_t)
    cpdef int64_t lowest_limit(self, int64_t otherwise) except? -1985229329 nogil
    cdef int _grow(self) except -1 with gil
