cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong


@cython.final
cdef class FaultSlot:
    cdef object _describe
    cdef object _unit
    cdef AtomicLong _is_full        # set by an agent, cleared by the conductor
    cdef int32_t _reason
    cdef int64_t _value
    cdef int64_t _limit
    cdef int32_t _error_code
    cdef SocketAddress _source

    cdef int32_t keep(
        self, int32_t reason, int64_t value, int64_t limit, int32_t error_code, SocketAddress source
    ) noexcept nogil
