cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget

# Results of `deflate`.
cpdef enum:
    DEFLATE_DONE = 1         # all input is consumed; with `is_last` the stream is complete
    DEFLATE_NO_MEMORY = 0      # the queue cannot grow: the budget is exhausted
    DEFLATE_BROKEN = -2      # an error of the library; never observed

# Bytes that a writer collects before it deflates them.
cpdef enum:
    STAGED_LENGTH = 32768


@cython.final
cdef class Deflater:
    cdef MemoryBudget _budget
    cdef void *_state               # NULL until the first stream and after `close`
    cdef int64_t _state_length
    cdef readonly int32_t level     # 1 to 9

    cdef int32_t start(self) noexcept nogil
    cdef int32_t deflate(
        self, AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into, bint is_last
    ) except -1 nogil
    cpdef int32_t close(self) noexcept nogil
