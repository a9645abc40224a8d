cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class ReconnectBackoff:
    cdef int64_t _init_ns
    cdef int64_t _max_ns
    cdef int64_t _round_length
    cdef int64_t _next_ns             # delay to apply after the next round
    cdef int64_t _failures            # failures since the last acknowledgement
    cdef int64_t _retry_ns
    cdef int64_t _chance              # state of a linear congruential generator

    cpdef bint may_try(self, int64_t now_ns) noexcept nogil
    @cython.locals(half=int64_t)
    cpdef int32_t on_lost(self, int64_t now_ns) except -1 nogil
    cpdef int32_t on_acknowledged(self) except -1 nogil
