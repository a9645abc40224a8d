cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.rate_limit cimport RateLimit
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.spi.endpoints cimport SendStream


@cython.final
cdef class PublicationEvents:
    cdef CommandRing _conductor
    cdef AtomicCounter _fails
    cdef Command _event
    cdef int64_t _response_deadline_ns      # no response event before it
    cdef RateLimit _errors

    cdef int32_t response_connected(self, SendStream publication, int64_t now_ns) except -1 nogil
    cdef int32_t response_setup(
        self, SendStream publication, int32_t response_session_id, int64_t now_ns
    ) except -1 nogil
    cdef bint _is_response_due(self, int64_t now_ns) noexcept nogil
    cdef int32_t receivers_refused(self, SendStream publication) except -1 nogil
    cdef bint error(
        self,
        SendStream publication,
        ErrorFrame error,
        int64_t destination_registration_id,
        SocketAddress source,
        int64_t now_ns,
    ) except -1 nogil
    cdef int32_t _offer(self) except -1 nogil
    cdef bint _is_offered(self) except -1 nogil
