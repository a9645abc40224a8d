from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.descriptor cimport LogBuffer

cpdef bint try_fill_gap(LogBuffer log, int32_t term_id, int32_t gap_offset, int32_t gap_length) except -1 nogil
cpdef int put_padding(
    LogBuffer log, int64_t frame_offset, int32_t term_id, int32_t term_offset, int32_t length
) except -1 nogil
