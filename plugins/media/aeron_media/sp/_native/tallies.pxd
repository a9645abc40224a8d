cimport cython
from libc.stdint cimport int32_t, int64_t

# Indexes of the tallies.
cpdef enum:
    PEERS = 0
    ACCEPTED
    ATTEMPTS
    REFUSED
    REFUSALS
    MISMATCHED
    MALFORMED
    SILENT
    TURNED_AWAY
    LOST
    TOO_LONG
    MEMORY
    MESSAGES_IN
    BYTES_IN
    OVER_TTL
    ZERO_HOPS
    RESERVED_BITS
    SHORT
    # Tallies of publications
    MESSAGES_OUT
    BYTES_OUT
    NO_PEER
    PEER_FULL
    HOPS_SPENT
    UNSENDABLE
    COUNT


@cython.final
cdef class Tallies:
    cdef int64_t _values[24]

    cdef inline void add(self, int32_t index, int64_t number) noexcept nogil:
        self._values[index] += number

    cdef inline void put(self, int32_t index, int64_t number) noexcept nogil:
        self._values[index] = number

    cdef inline int64_t get(self, int32_t index) noexcept nogil:
        return self._values[index]
