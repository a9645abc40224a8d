cimport cython
from libc.stdint cimport int64_t

from aeron_core._native cimport xorshift
from aeron_core._native.xorshift cimport Xorshift


cdef class NakDelay:
    cdef int64_t delay_ns(self, bint is_retry) noexcept nogil


cdef class UnicastNakDelay(NakDelay):
    cdef int64_t _first_ns
    cdef int64_t _retry_ns


@cython.final
cdef class MulticastNakDelay(NakDelay):
    cdef double _scale          # nanoseconds for one e-fold
    cdef double _spread         # e^lambda - 1
    cdef double _unit           # scale of the random numbers: 2^-53
    cdef Xorshift _random
