cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.header cimport Frame, expect, put_header


@cython.final
cdef class ErrorFrame(Frame):
    cdef public int32_t session_id  # with the stream id: the publication that is rejected
    cdef public int32_t stream_id
    cdef public int64_t receiver_id  # of the receiver that rejects it
    cdef public int64_t group_tag           # valid only with wire.ERR_FLAG_HAS_GROUP_TAG
    cdef public int32_t error_code  # one of errors.ErrorCode; IMAGE_REJECTED from an Aeron driver
    cdef public int32_t error_length        # bytes of text, as stated by the frame
    cdef readonly int32_t text_length       # bytes of text that were kept
    cdef AtomicBuffer _text                 # wire.ERR_MAX_TEXT_LENGTH bytes

    @cython.locals(result=int32_t)
    cpdef int32_t decode(self, AtomicBuffer buffer, int64_t offset, int32_t length) except? -1 nogil
    @cython.locals(frame_length=int32_t)
    cpdef int32_t encode(self, AtomicBuffer buffer, int64_t offset) except? -1 nogil
    cpdef bint is_valid(self) noexcept nogil


@cython.locals(index=int32_t)
cdef int32_t _copy(
    AtomicBuffer target, int64_t target_offset, AtomicBuffer source, int64_t source_offset, int32_t length
) except? -1 nogil
