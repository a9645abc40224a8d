cimport cython
from libc.stdint cimport int64_t, uint16_t, uint32_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.recording._native cimport sums

@cython.locals(summed=int64_t, scanned=int64_t, frame_length=int64_t, value=int64_t, frame_type=uint16_t)
cpdef int64_t check_sum(AtomicBuffer data, int64_t begin, int64_t length) except -1 nogil

@cython.locals(entry=int64_t, end=int64_t, at=int64_t, crc32=uint32_t, is_right=bint)
cpdef int64_t first_wrong(
    AtomicBuffer entries, int64_t first, int64_t last, AtomicBuffer data, int64_t begin, int64_t position
) except -2 nogil
