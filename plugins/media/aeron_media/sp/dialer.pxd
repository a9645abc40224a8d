cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class Dialer:
    cdef int64_t _init_ns
    cdef int64_t _max_ns
    cdef int64_t _backoff_ns            # pause after the next failure
    cdef int64_t _chance                # state of a linear congruential generator
    cdef int64_t _retry_ns
    cdef bint _is_first                 # no attempt has been made

    cdef bint is_due(self, int64_t now_ns) noexcept nogil
    cdef int32_t on_dialed(self) noexcept nogil
    @cython.locals(half=int64_t)
    cdef int32_t on_lost(self, int64_t now_ns) noexcept nogil
    cdef int32_t on_good(self) noexcept nogil
