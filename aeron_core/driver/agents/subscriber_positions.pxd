cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.pointers cimport PointerList


@cython.final
cdef class SubscriberPosition:
    cdef readonly AtomicCounter counter  # written by the client; by the agent only to set the join position
    cdef readonly int64_t subscription_id
    cdef readonly int64_t client_id


@cython.final
cdef class SubscriberPositions:
    cdef PointerList _positions     # of SubscriberPosition, borrowed from the conductor

    cdef int32_t size(self) noexcept nogil
    cdef int64_t add(self, SubscriberPosition position, int64_t join_position) except -1 nogil
    cdef int32_t remove(self, SubscriberPosition position) except -1 nogil
    @cython.locals(i=int32_t, lowest=int64_t)
    cdef int64_t lowest(self, int64_t otherwise) noexcept nogil
    @cython.locals(i=int32_t, highest=int64_t)
    cdef int64_t highest(self, int64_t otherwise, int64_t ceiling) noexcept nogil
    @cython.locals(position=int64_t)
    cdef int64_t _read(self, int32_t index) noexcept nogil
