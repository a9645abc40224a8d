from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from aeron_core._native cimport wire

# Term ids and term counts wrap in 32 bits. Signed overflow is undefined in C, hence the casts to unsigned.

cpdef inline int32_t add_wrap(int32_t value, int32_t other) noexcept nogil:
    return <int32_t>(<uint32_t>value + <uint32_t>other)

cpdef inline int32_t subtract_wrap(int32_t value, int32_t other) noexcept nogil:
    return <int32_t>(<uint32_t>value - <uint32_t>other)

cpdef inline int64_t align(int64_t length, int64_t alignment) noexcept nogil:
    return (length + alignment - 1) & ~(alignment - 1)

cpdef inline int64_t align_frame(int64_t length) noexcept nogil:
    return align(length, wire.FRAME_ALIGNMENT)

cpdef inline int32_t compute_term_count(int32_t term_id, int32_t initial_term_id) noexcept nogil:
    return subtract_wrap(term_id, initial_term_id)

cpdef inline int64_t compute_position(
    int32_t term_id, int32_t term_offset, int32_t position_bits_to_shift, int32_t initial_term_id
) noexcept nogil:
    # As unsigned: the count is negative for a term before the initial one, and C defines no shift of negative numbers.
    return <int64_t>(<uint64_t>compute_term_count(term_id, initial_term_id) << position_bits_to_shift) + term_offset

cpdef inline int32_t compute_term_id(
    int64_t position, int32_t position_bits_to_shift, int32_t initial_term_id
) noexcept nogil:
    return add_wrap(<int32_t>(position >> position_bits_to_shift), initial_term_id)

cpdef inline int32_t compute_term_offset(int64_t position, int32_t position_bits_to_shift) noexcept nogil:
    return <int32_t>(position & ((<int64_t>1 << position_bits_to_shift) - 1))

# Unsigned remainder: the index is 0, 1 or 2 even for a negative count from a corrupt file or from a peer.

cpdef inline int32_t index_by_position(int64_t position, int32_t position_bits_to_shift) noexcept nogil:
    return <int32_t>(<uint64_t>(position >> position_bits_to_shift) % wire.PARTITION_COUNT)

cpdef inline int32_t index_by_term_count(int32_t term_count) noexcept nogil:
    return <int32_t>(<uint32_t>term_count % wire.PARTITION_COUNT)

cpdef inline int32_t index_by_term(int32_t initial_term_id, int32_t term_id) noexcept nogil:
    return index_by_term_count(compute_term_count(term_id, initial_term_id))

# Multiply in 64 bits: the third term begins at 2 GiB if terms have 1 GiB, beyond the range of int32.

cpdef inline int64_t partition_offset(int32_t index, int32_t term_length) noexcept nogil:
    return <int64_t>index * term_length

# Raw tails: the term id in the upper 32 bits, the offset in the lower, which may exceed the term length.

cpdef inline int64_t pack_raw_tail(int32_t term_id, int32_t term_offset) noexcept nogil:
    return <int64_t>((<uint64_t>term_id << 32) | <uint32_t>term_offset)

cpdef inline int32_t raw_tail_term_id(int64_t raw_tail) noexcept nogil:
    return <int32_t>(raw_tail >> 32)

cpdef inline int32_t raw_tail_term_offset(int64_t raw_tail, int32_t term_length) noexcept nogil:
    cdef int64_t offset = <uint32_t>raw_tail
    return <int32_t>offset if offset < term_length else term_length

cpdef inline int32_t position_bits_to_shift(int32_t term_length) noexcept nogil:
    cdef int32_t bits = 0
    while bits < 31 and (<uint32_t>term_length >> bits) & 1 == 0:
        bits += 1
    return bits

cpdef inline int64_t max_possible_position(int32_t term_length) noexcept nogil:
    return <int64_t>term_length << 31

cpdef inline int32_t max_message_length(int32_t term_length) noexcept nogil:
    return term_length // 8 if term_length // 8 < wire.MAX_MESSAGE_LENGTH else wire.MAX_MESSAGE_LENGTH

cpdef inline int64_t fragmented_length(int64_t length, int32_t max_payload_length) noexcept nogil:
    cdef int64_t remainder = length % max_payload_length
    cdef int64_t whole = (length // max_payload_length) * (max_payload_length + wire.DATA_HEADER_LENGTH)
    return whole + (align_frame(remainder + wire.DATA_HEADER_LENGTH) if remainder > 0 else 0)

cpdef inline int64_t compute_log_length(int32_t term_length, int32_t page_size) noexcept nogil:
    return align(<int64_t>term_length * wire.PARTITION_COUNT + wire.LOG_META_DATA_LENGTH, page_size)

# Two 32-bit numbers in one int64, for functions that return both. Negative only if `high` is negative.

cpdef inline int64_t pack_pair(int32_t high, int32_t low) noexcept nogil:
    return <int64_t>((<uint64_t>high << 32) | <uint32_t>low)

cpdef inline int32_t high_of_pair(int64_t pair) noexcept nogil:
    return <int32_t>(pair >> 32)

cpdef inline int32_t low_of_pair(int64_t pair) noexcept nogil:
    return <int32_t><uint32_t>pair
