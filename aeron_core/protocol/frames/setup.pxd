cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, expect, put_header


@cython.final
cdef class Setup(Frame):
    cdef public int32_t term_offset         # the sender's offset in its active term
    cdef public int32_t session_id
    cdef public int32_t stream_id
    cdef public int32_t initial_term_id     # of position 0: a receiver computes positions relative to it
    cdef public int32_t active_term_id      # with the offset: the position at which a receiver joins
    cdef public int32_t term_length         # bytes
    cdef public int32_t mtu                 # bytes of the longest frame and datagram
    cdef public int32_t ttl                 # of the sender's multicast socket, otherwise 0

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil
    cpdef bint is_valid(self) noexcept nogil
