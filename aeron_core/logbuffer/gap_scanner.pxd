from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer

# `positions.high_of_pair` of the result is the term offset of the gap, `positions.low_of_pair` its length, in bytes.
cpdef int64_t scan_for_gap(
    AtomicBuffer buffer, int64_t partition_offset, int32_t term_offset, int32_t limit_offset
) except -1 nogil
