cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, expect, put_header


@cython.final
cdef class Nak(Frame):
    cdef public int32_t session_id  # with the stream id: the publication that retransmits
    cdef public int32_t stream_id
    cdef public int32_t term_id         # a gap across two terms takes two NAKs
    cdef public int32_t term_offset     # start of the gap
    cdef public int32_t length          # of the gap, in bytes

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil
    @cython.locals(end=int64_t)
    cpdef bint is_valid(self, int32_t term_length) noexcept nogil
