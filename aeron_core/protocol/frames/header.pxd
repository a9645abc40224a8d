cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer


cdef class Frame:
    cdef public int32_t frame_length    # bytes, as stated by the frame
    cdef public uint8_t flags           # their meaning depends on the type


@cython.final
cdef class FrameHeader(Frame):
    cdef public uint8_t version  # as stated by the frame: `decode` does not check it
    cdef public uint16_t frame_type  # one of wire.TYPE_…, or a type that is unknown here

    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil


cpdef int32_t minimum_length(int32_t frame_type) except? -1 nogil
cdef int32_t _minimum_length_of_rare(int32_t frame_type) except? -1 nogil

@cython.locals(frame_length=int32_t, frame_type=int32_t, shortest=int32_t, fits=bint)
cpdef int32_t validate(AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil

@cython.locals(result=int32_t)
cpdef int32_t expect(AtomicBuffer buffer, int64_t offset, int32_t length, int32_t frame_type) except? -1 nogil

cpdef int32_t put_header(
    AtomicBuffer buffer, int64_t offset, int32_t frame_length, uint8_t flags, uint16_t frame_type
) except? -1 nogil
