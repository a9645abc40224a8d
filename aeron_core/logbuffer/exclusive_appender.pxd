cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport frames, positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.appender cimport Appender
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.frame_writer cimport FrameWriter, check_message, check_range, length_of_message, length_of_parts
from aeron_core.logbuffer.rebuilder cimport insert


@cython.final
cdef class ExclusiveAppender(Appender):
    cdef readonly LogBuffer log
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t term_id        # id of the active term
    cdef readonly int32_t term_offset    # offset of the next frame in the active term
    cdef FrameWriter _writer
    cdef AtomicBuffer _buffer            # of the log
    cdef AtomicBuffer _limit             # i64 at 0: the publisher limit, a position
    cdef int64_t _term_begin_position    # position of the start of the active term
    cdef int64_t _term_begin_offset      # offset of the active term in the log
    cdef int64_t _tail_offset            # offset in the log of the tail of the active term
    cdef int64_t _max_possible_position  # position after 2^31 terms, the last one
    cdef int32_t _term_length            # bytes
    cdef int32_t _max_payload_length     # bytes
    cdef int32_t _max_message_length     # bytes

    cpdef int64_t position(self) noexcept nogil
    cpdef int64_t position_limit(self) except? -1985229329 nogil
    @cython.locals(term_offset=int32_t)
    cpdef int64_t offer(
        self, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except? -1985229329 nogil
    @cython.locals(term_offset=int32_t, length=int64_t)
    cpdef int64_t offer_bytes(self, bytes data, int64_t reserved_value) except? -1985229329
    @cython.locals(required=int64_t)
    cpdef int64_t offer_parts(self, object parts, int64_t reserved_value) except? -1985229329
    cpdef int64_t claim(self, BufferClaim claim, int32_t length) except? -1985229329 nogil
    cpdef int64_t append_padding(self, int32_t length) except? -1985229329 nogil
    cpdef int64_t offer_block(
        self, AtomicBuffer source, int64_t source_offset, int32_t length
    ) except? -1985229329 nogil
    @cython.locals(appended=int64_t, result=int64_t)
    cpdef int64_t offer_batch(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329 nogil

    cdef int64_t _offer_otherwise(
        self, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except? -1985229329 nogil
    cdef int64_t _offer_run(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329 nogil
    cdef int64_t _required_length(self, int32_t length) noexcept nogil
    cdef bint _has_space_for_frame(self, int64_t length) except -1 nogil
    cdef int _move_tail(self, int32_t length) except -1 nogil
    cdef int64_t _claim_range(self, int32_t length, int64_t required) except? -1985229329 nogil
    cdef int64_t _end_term(self) except? -1985229329 nogil
    cdef int _rotate(self) except -1 nogil
    cdef int64_t _refuse(self, int64_t position, int64_t length) except? -1985229329 nogil
    @cython.locals(offset=int64_t, frame=int64_t, frame_length=int32_t)
    cdef bint _is_block(self, AtomicBuffer source, int64_t source_offset, int32_t length) except -1 nogil
