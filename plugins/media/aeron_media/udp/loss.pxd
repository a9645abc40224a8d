cimport cython
from libc.stdint cimport uint64_t

from aeron_core._native cimport xorshift
from aeron_core._native.xorshift cimport Xorshift


@cython.final
cdef class LossGenerator:
    cdef Xorshift _random
    cdef uint64_t _threshold    # random numbers below it drop a datagram: the rate, scaled by 2^53

    cpdef bint should_drop(self) noexcept nogil
