cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class BufferClaim:
    cdef readonly AtomicBuffer log_buffer  # the whole log of the claim; an empty buffer before the first claim
    cdef readonly int64_t frame_offset     # of the frame in it, -1 if no claim is open
    cdef readonly int32_t length           # bytes of the payload

    # `prepare` may fail; `open` then opens a claim in the prepared buffer and cannot fail.
    cdef int prepare(self, AtomicBuffer buffer) except -1 nogil
    cdef void open(self, int64_t frame_offset, int32_t length) noexcept nogil
    cdef int _bind(self, AtomicBuffer buffer) except -1 with gil
    cdef int64_t _field(self, int64_t field) noexcept nogil

    cpdef bint commit(self) except -1 nogil
    cpdef bint abort(self) except -1 nogil
    cpdef int64_t payload_offset(self) noexcept nogil
    # 171 (0xAB) and 43981 (0xABCD) are rare values: a caller checks for an exception whenever one of them is returned.
    cpdef uint8_t flags(self) except? 171 nogil
    cpdef int set_flags(self, uint8_t flags) except -1 nogil
    cpdef uint16_t header_type(self) except? 43981 nogil
    cpdef int set_header_type(self, uint16_t header_type) except -1 nogil
    cpdef int64_t reserved_value(self) except? -1985229329 nogil
    cpdef int set_reserved_value(self, int64_t value) except -1 nogil
