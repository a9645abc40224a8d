cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.gap_filler cimport put_padding

cpdef bint unblock(LogBuffer log, int64_t blocked_position) except -1 nogil
@cython.locals(length=int32_t)
cpdef bint unblock_for_good(LogBuffer log, int64_t blocked_position) except -1 nogil
@cython.locals(length=int32_t)
cpdef int64_t first_gap(LogBuffer log, int64_t position, int64_t end) except? -1 nogil
cpdef int32_t unblock_term(
    LogBuffer log, int64_t partition_offset, int32_t blocked_offset, int32_t tail_offset, int32_t term_id
) except -1 nogil
cdef int32_t _find_hole(AtomicBuffer buffer, int64_t begin, int64_t tail, int64_t end) except -1 nogil
