cimport cython
from libc.stdint cimport int32_t, int64_t

cdef int32_t REPLIES
cdef int64_t INTERVAL_NS


@cython.final
cdef class ReplyBudget:
    cdef int32_t _left        # in the interval that ends at `_end_ns`
    cdef int64_t _end_ns

    cpdef bint take(self, int64_t now_ns) noexcept nogil
