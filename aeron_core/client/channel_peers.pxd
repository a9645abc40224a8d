cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport peers, positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.pointers cimport PointerList
from aeron_core.logbuffer.descriptor cimport LogBuffer


@cython.final
cdef class ChannelPeers:
    cdef object _reader               # of the driver's counters
    cdef list _counters               # keeps the objects behind the pointers alive
    cdef PointerList _slots           # AtomicCounter, one for each possible peer
    cdef AtomicCounter _sender_position     # None if there is none
    cdef bint _is_sent                # whether the driver's sender sends the stream
    cdef int32_t _last                # slot of the peer that was found last

    @cython.locals(waiting=int64_t, value=int64_t)
    cpdef int64_t refusal(self, int32_t session_id, int64_t length, int64_t position) noexcept nogil
    @cython.locals(taken=int64_t, offset=int64_t, length=int64_t, reason=int64_t)
    cpdef int64_t count_taken(
        self, int32_t session_id, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t position,
        LogBuffer log
    ) except? -1985229329 nogil
    @cython.locals(value=int64_t, index=int32_t)
    cdef int64_t _find(self, int32_t session_id) noexcept nogil
