cimport cython
from libc.stdint cimport uint64_t

# Bits of a random number: the precision of a double.
cpdef enum:
    RANDOM_BITS = 53


@cython.final
cdef class Xorshift:
    cdef uint64_t _state    # never 0: from 0 the generator would return only 0

    # Return a random number from 0 to 2^RANDOM_BITS - 1: the upper bits, because the lower ones are less random.
    cdef inline uint64_t next(self) noexcept nogil:
        cdef uint64_t state = self._state
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        self._state = state
        return (state * <uint64_t>0x2545F4914F6CDD1DULL) >> (64 - RANDOM_BITS)
