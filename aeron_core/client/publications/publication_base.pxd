cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.integers cimport ReusedInt
from aeron_core.client._native cimport arguments
from aeron_core.client._native.payload cimport Payload
from aeron_core.client.publications.claim cimport Claim
from aeron_core.client.publications.publication_state cimport PublicationState
from aeron_core.logbuffer.appender cimport Appender
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.frame_writer cimport check_range


cdef class PublicationBase(PublicationState):
    cdef Appender _appender
    cdef Payload _payload
    cdef ReusedInt _results                          # the integer that offers return, reused
    cdef BufferClaim _spare_claim                    # None while it is used

    cpdef int64_t refusal_of(self, int32_t peer, int64_t length) except? -1985229329
    cpdef int64_t count_for(self, int32_t peer, AtomicBuffer boundaries, int64_t first, int64_t count) except? -1985229329

    # Final: called directly, not through the virtual method table.
    @cython.final
    @cython.locals(length=int64_t, result=int64_t)
    cdef int64_t _offer(self, object data, int64_t reserved_value) except? -1985229329
    @cython.final
    cdef int64_t _offer_parts(self, object parts, int64_t reserved_value) except? -1985229329
    @cython.final
    @cython.locals(appended=int64_t, result=int64_t)
    cdef int64_t _offer_batch(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value,
        int64_t step
    ) except? -1985229329
    @cython.final
    @cython.locals(value=int64_t, count=int64_t, appended=int64_t, result=int64_t, retry=bint)
    cdef int64_t _offer_many(self, tuple messages, int64_t first, object reserved_value, object peer) except? -1985229329
    @cython.final
    cdef object _result(self, int64_t result)
    @cython.final
    cdef object _refused(self, int64_t result)
    @cython.final
    cdef int64_t _check_result(self, int64_t result, int64_t length) except? -1985229329
    @cython.final
    cdef BufferClaim _take_claim(self)

cpdef object refused(int64_t result)
cpdef int refuse_length(int64_t length, int64_t maximum, str hint) except -1
