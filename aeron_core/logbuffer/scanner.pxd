from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer

# `positions.low_of_pair` of the result: bytes available; `positions.high_of_pair`: bytes of padding after them.
cpdef int64_t scan_for_availability(
    AtomicBuffer buffer, int64_t frame_offset, int32_t term_length_left, int32_t max_length
) except -1 nogil
