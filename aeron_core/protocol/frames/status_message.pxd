cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, expect, put_header


@cython.final
cdef class StatusMessage(Frame):
    cdef public int32_t session_id  # with the stream id: the publication to which the message is sent
    cdef public int32_t stream_id
    cdef public int32_t consumption_term_id  # with the offset: the position that all subscribers have consumed
    cdef public int32_t consumption_term_offset
    cdef public int32_t receiver_window     # bytes after the consumption position that may be sent
    cdef public int64_t receiver_id         # identifies the receiver for flow control and liveness
    cdef public bint has_group_tag          # the frame carries `group_tag`, for tagged flow control
    cdef public int64_t group_tag           # 0 for none

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil
    cpdef bint is_valid(self, int32_t term_length) noexcept nogil
    @cython.locals(half_range=int64_t, term_count=int64_t)
    cpdef int64_t position(self, int32_t initial_term_id, int32_t position_bits_to_shift) noexcept nogil
    @cython.locals(position=int64_t, half_term_length=int64_t)
    cpdef bint is_near(
        self, int64_t sender_position, int32_t initial_term_id, int32_t position_bits_to_shift
    ) noexcept nogil
