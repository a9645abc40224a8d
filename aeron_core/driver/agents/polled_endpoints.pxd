cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.datagrams cimport ReceiveBatch
from aeron_core._native.pointers cimport PointerList
from aeron_core._native.readiness cimport ReadinessSet
from aeron_core.driver._native cimport operations
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, SendChannelEndpoint


cdef class PolledEndpoints:
    cdef ReceiveBatch _batch        # of all endpoints that receive datagrams
    cdef bint _is_full              # whether one of them filled all slots
    cdef PointerList _all           # of borrowed endpoints
    cdef PointerList _unwatched     # endpoints that the kernel cannot watch
    cdef ReadinessSet _watched      # endpoints that it watches
    cdef bint _is_watching          # whether the last poll was of unwatched and ready endpoints, not of all
    cdef bint has_received          # whether the last poll found something
    cdef int32_t _next              # next index of a walk: 0, except after an endpoint that raised
    cdef int32_t _next_ready        # next index of the list of ready endpoints: 0, except after one that raised
    cdef int32_t _ready_count       # watched endpoints that had data at the last check

    @cython.locals(descriptor=int32_t)
    cdef int32_t append(self, PyObject *endpoint) except -1 nogil
    cdef int32_t remove(self, PyObject *endpoint) except -1 nogil
    cdef bint are_watched(self) noexcept nogil
    cdef int32_t poll(self, int64_t now_ns) except -1 nogil
    @cython.locals(is_full=cython.bint)
    cdef bint take_full(self) noexcept nogil
    @cython.locals(index=int32_t, work=int32_t, is_watching=cython.bint)
    cdef int32_t _poll(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, work=int32_t)
    cdef int32_t _walk(self, PointerList endpoints, int64_t now_ns) except -1 nogil
    cdef int32_t _descriptor_of(self, PyObject *endpoint) except -1 nogil
    @cython.locals(received=int32_t)
    cdef int32_t _poll_next(self, PyObject *endpoint, int64_t now_ns) except -1 nogil
    cdef int32_t _poll_one(self, PyObject *endpoint, int64_t now_ns) except -1 nogil


@cython.final
cdef class PolledSendEndpoints(PolledEndpoints):
    pass


@cython.final
cdef class PolledReceiveEndpoints(PolledEndpoints):
    pass
