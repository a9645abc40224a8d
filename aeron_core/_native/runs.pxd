from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer

cpdef int64_t measure_run(
    AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t max_payload_length,
    int64_t space, int64_t allowance
) except -1 nogil
cpdef int64_t write_run(
    AtomicBuffer log, int64_t offset, int64_t length, AtomicBuffer data, AtomicBuffer boundaries, int64_t first,
    int64_t count, int32_t term_offset, int32_t session_id, int32_t stream_id, int32_t term_id,
    int64_t reserved_value
) except -1 nogil
cpdef int64_t read_run(
    AtomicBuffer log, int64_t offset, int64_t left, int64_t reach, int64_t position, int64_t max_messages,
    AtomicBuffer data, int64_t data_length, AtomicBuffer boundaries, AtomicBuffer stream_positions,
    AtomicBuffer reserved_values, AtomicBuffer session_ids, int64_t first
) except -1 nogil
