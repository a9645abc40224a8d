cimport cython
from libc.stdint cimport uint64_t


@cython.final
cdef class LossGenerator:
    cdef uint64_t _state        # never 0
    cdef uint64_t _multiplier   # the constant of xorshift64*; as a literal Cython would make it a Python int
    cdef uint64_t _threshold    # the rate, scaled by 2^53

    @cython.locals(state=uint64_t)
    cpdef bint should_drop(self) noexcept nogil
