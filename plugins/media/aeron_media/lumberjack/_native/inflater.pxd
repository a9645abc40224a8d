cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget

# Results of `inflate`.
cpdef enum:
    INFLATE_MORE = 0         # needs more input or more output space
    INFLATE_FINISHED = 1     # end of the stream, with a correct checksum
    INFLATE_BROKEN = -2      # not a stream of RFC 1950

# PIECE_LENGTH: bytes to inflate ahead of the parser. RATIO_FREE_LENGTH: output of a C frame above which the ratio is
# checked.
cpdef enum:
    PIECE_LENGTH = 65536
    RATIO_FREE_LENGTH = 1048576


@cython.final
cdef class Inflater:
    cdef MemoryBudget _budget
    cdef void *_state               # NULL between streams
    cdef int64_t _state_length
    cdef readonly int64_t used      # bytes of input that the last call consumed
    cdef readonly int64_t made      # bytes of output that the last call produced

    cdef inline bint is_open(self) noexcept nogil:
        return self._state != NULL

    cdef int32_t open(self) noexcept nogil
    cdef int32_t inflate(
        self, AtomicBuffer source, int64_t offset, int64_t length, ByteQueue into, int64_t max_made
    ) except -1 nogil
    cdef int32_t close(self) noexcept nogil
