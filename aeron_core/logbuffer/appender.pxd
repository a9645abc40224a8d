cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport frames, positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.frame_writer cimport FrameWriter, check_message, check_range, length_of_message, length_of_parts


cdef class Appender:
    # -1985229329 (0x89ABCDEF, no result) signals a possible exception. Not -1, which is a result: a caller without the
    # GIL acquires it whenever the signal is returned, to check for an exception.
    cdef int64_t offer(
        self, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except? -1985229329 nogil
    cdef int64_t offer_bytes(self, bytes data, int64_t reserved_value) except? -1985229329
    cdef int64_t offer_parts(self, object parts, int64_t reserved_value) except? -1985229329
    cdef int64_t claim(self, BufferClaim claim, int32_t length) except? -1985229329 nogil
    cdef int64_t offer_batch(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329 nogil


@cython.final
cdef class ConcurrentAppender(Appender):
    cdef readonly LogBuffer log
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef FrameWriter _writer
    cdef AtomicBuffer _buffer            # of the log
    cdef AtomicBuffer _limit             # i64 at 0: the publisher limit, a position
    cdef int64_t _metadata_offset        # the tails are its first fields
    cdef int64_t _max_possible_position  # position after 2^31 terms, the last one
    cdef int32_t _term_length            # bytes
    cdef int32_t _initial_term_id
    cdef int32_t _position_bits_to_shift  # a position >> this is its term count
    cdef int32_t _max_payload_length     # bytes
    cdef int32_t _max_message_length     # bytes

    cpdef int64_t position(self) except? -1985229329 nogil
    cpdef int64_t position_limit(self) except? -1985229329 nogil
    cpdef int64_t offer(
        self, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except? -1985229329 nogil
    @cython.locals(length=int64_t, required=int64_t)
    cpdef int64_t offer_bytes(self, bytes data, int64_t reserved_value) except? -1985229329
    @cython.locals(required=int64_t)
    cpdef int64_t offer_parts(self, object parts, int64_t reserved_value) except? -1985229329
    cpdef int64_t claim(self, BufferClaim claim, int32_t length) except? -1985229329 nogil
    cpdef int64_t append_padding(self, int32_t length) except? -1985229329 nogil
    @cython.locals(appended=int64_t, retry=int32_t, result=int64_t)
    cpdef int64_t offer_batch(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329 nogil

    cdef int64_t _offer_run(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t reserved_value
    ) except? -1985229329 nogil
    cdef int64_t _required_length(self, int32_t length) noexcept nogil
    cdef int64_t _claim_range(self, int64_t required) except? -1985229329 nogil
    cdef int64_t _tail_position(self, int64_t raw_tail) noexcept nogil
    cdef int64_t _end_term(self, int64_t position, int64_t raw_tail) except? -1985229329 nogil
    cdef int64_t _refuse(self, int64_t position, int64_t required) except? -1985229329 nogil
