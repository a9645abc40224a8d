cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class BatchBuffer:
    cdef readonly AtomicBuffer data             # the messages, contiguous
    cdef readonly AtomicBuffer boundaries       # capacity + 1 int64: message i is from entry i up to entry i + 1
    cdef readonly AtomicBuffer positions        # capacity int64: the stream position after each message
    cdef readonly AtomicBuffer reserved_values  # capacity int64: of the first frame of each message
    cdef readonly AtomicBuffer session_ids      # capacity int32
    cdef readonly int64_t capacity              # messages
    cdef readonly int64_t count                 # messages
    cdef readonly int64_t data_length           # bytes of the messages

    cpdef int clear(self) except -1 nogil
    cpdef bint has_space(self, int64_t length) noexcept nogil
    cpdef int append(self, AtomicBuffer source, int64_t source_offset, int64_t length) except -1 nogil
    cpdef int finish(self, int64_t position, int64_t reserved_value, int32_t session_id) except -1 nogil
