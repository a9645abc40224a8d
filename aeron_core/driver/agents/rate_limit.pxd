cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class RateLimit:
    cdef int32_t _limit
    cdef int64_t _interval_ns
    cdef int32_t _left        # actions still permitted in the interval that ends at `_end_ns`
    cdef int64_t _end_ns

    cpdef bint take(self, int64_t now_ns) noexcept nogil
