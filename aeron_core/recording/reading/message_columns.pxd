cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class MessageColumns:
    cdef readonly AtomicBuffer payload          # the messages, without gaps
    cdef readonly AtomicBuffer boundaries       # capacity + 1 int32: message i lies from entry i up to entry i + 1
    cdef readonly AtomicBuffer positions        # capacity int64: the position after each message
    cdef readonly AtomicBuffer reserved_values  # capacity int64: that of the first frame of each message
    cdef readonly AtomicBuffer flags            # capacity int32: of the first frame, or-ed with those of the others
    cdef readonly int64_t capacity              # messages
    cdef readonly int64_t count                 # messages
    cdef readonly int64_t payload_length        # bytes of the messages
    cdef int32_t _flags_so_far                  # of the incomplete message

    cpdef int clear(self) except -1 nogil
    cpdef bint has_space(self, int64_t length) noexcept nogil
    cpdef int append(self, AtomicBuffer source, int64_t frame, int64_t length) except -1 nogil
    @cython.locals(at=int64_t)
    cpdef int finish(self, int64_t position, int64_t reserved_value) except -1 nogil
