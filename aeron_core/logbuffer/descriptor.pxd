cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class LogBuffer:
    cdef readonly AtomicBuffer buffer            # the whole log: three terms, padding, the metadata page
    cdef readonly int64_t metadata_offset        # of the metadata page in `buffer`
    cdef readonly int64_t max_possible_position  # position after 2^31 terms, the last one
    cdef readonly int32_t term_length            # bytes, a power of two
    cdef readonly int32_t term_length_mask       # a position & this is its term offset
    cdef readonly int32_t position_bits_to_shift  # a position >> this is its term count
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t mtu_length             # bytes of the longest frame, header included
    cdef readonly int32_t max_payload_length     # bytes of the longest message in one frame
    cdef readonly int32_t max_message_length     # bytes of the longest message

    # -1985229329 (0x89ABCDEF) signals a possible exception. Not -1, which is a legal value: a caller without the GIL
    # acquires it whenever the signal is returned, to check for an exception.
    cpdef int64_t raw_tail_acquire(self, int32_t index) except? -1985229329 nogil
    cpdef int32_t active_term_count_acquire(self) except? -1985229329 nogil
    cpdef int64_t producer_position(self) except? -1985229329 nogil
    # Address of the three tail counters, for `sum_of_tails`; valid while this object exists.
    cdef inline const uint64_t *tails(self) noexcept nogil:
        return <const uint64_t *>(self.buffer._address + self.metadata_offset + wire.LOG_TERM_TAIL_COUNTERS_OFFSET)
    cpdef bint rotate(self, int32_t current_term_count, int32_t current_term_id) except -1 nogil
    cpdef bint is_connected(self) except -1 nogil
    cpdef int set_is_connected(self, bint value) except -1 nogil
    cpdef int64_t end_of_stream_position_acquire(self) except? -1985229329 nogil
    cpdef int set_end_of_stream_position(self, int64_t position) except -1 nogil
    cpdef int32_t active_transport_count(self) except? -1985229329 nogil
    cpdef int set_active_transport_count(self, int32_t count) except -1 nogil
    cpdef bint is_revoked(self) except -1 nogil
    cpdef int set_is_revoked(self, bint value) except -1 nogil
    cpdef int64_t correlation_id(self) except? -1985229329 nogil
    cpdef int64_t frame_offset(self, int64_t position) noexcept nogil
    cpdef int apply_default_header(self, int64_t offset) except -1 nogil
