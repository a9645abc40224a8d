cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, expect, put_header


@cython.final
cdef class Rttm(Frame):
    cdef public int32_t session_id  # with the stream id: the stream whose path is measured
    cdef public int32_t stream_id
    cdef public int64_t echo_timestamp      # ns, of the requester's clock
    cdef public int64_t reception_delta     # ns between reception of the request and this reply
    cdef public int64_t receiver_id         # 0: addressed to all receivers

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil
    cpdef bint is_for(self, int64_t receiver_id) noexcept nogil
