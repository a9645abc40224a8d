cimport cython
from libc.stdint cimport int32_t, int64_t, uint16_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, put_header, validate


@cython.final
cdef class DataHeader(Frame):
    cdef public uint16_t frame_type     # wire.TYPE_DATA or wire.TYPE_PAD
    cdef public int32_t term_offset     # of the frame in its term
    cdef public int32_t session_id  # of the publication; identifies the stream together with the stream id
    cdef public int32_t stream_id  # chosen by the application; one channel can carry several streams
    cdef public int32_t term_id         # initial term id plus the number of earlier terms; wraps in 32 bits
    cdef public int64_t reserved_value  # 64 bits for the application; not interpreted

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil


cpdef bint is_heartbeat(AtomicBuffer buffer, int64_t offset, int32_t length) except -1 nogil

@cython.locals(last=int32_t, end=int32_t, aligned_length=int32_t)
cpdef int32_t validate_data_packet(
    AtomicBuffer buffer, int64_t offset, int32_t length, int32_t term_offset, int32_t term_length
) except? -1 nogil

cdef int32_t _frame_type(AtomicBuffer buffer, int64_t offset) except? -1 nogil

@cython.locals(frame_length=int32_t)
cdef int32_t _aligned_length(
    AtomicBuffer buffer, int64_t offset, int32_t term_offset, int32_t term_length
) except? -1 nogil
