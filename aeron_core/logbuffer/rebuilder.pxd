from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer

cpdef bint insert(
    AtomicBuffer buffer, int64_t frame_offset, AtomicBuffer packet, int64_t packet_offset, int32_t length
) except -1 nogil
