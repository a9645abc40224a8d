cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.pointers cimport LongMap, pair_key
from aeron_media.udp.loss cimport LossGenerator


cdef int32_t _MAX_STREAMS
cdef int64_t _UNKNOWN
cdef int32_t _MAX_TYPE


@cython.final
cdef class IncomingLoss:
    cdef readonly bint is_any           # false if no packet is ever dropped
    cdef LossGenerator _generator
    cdef uint32_t _type_mask            # bit n set: frames of type n are dropped at random
    cdef bint _has_fixed
    cdef int32_t _fixed_term_id
    cdef int64_t _fixed_begin           # offset in the term; 64 bits, because an end may exceed 2^31
    cdef int64_t _fixed_end
    cdef bint _has_gaps
    cdef int32_t _gap_term_id
    cdef int64_t _gap_radix             # a power of two
    cdef int64_t _gap_length
    cdef int64_t _last_gap_end
    cdef LongMap _fixed_ends            # (stream id, session id) -> end of the dropped range
    cdef LongMap _gap_ends

    @cython.locals(frame_type=int32_t, term_id=int32_t, begin=int64_t, stream=int64_t)
    cpdef bint should_drop(self, AtomicBuffer buffer, int64_t offset, int32_t length) except -1 nogil
    cdef bint _is_in_range(self, int64_t begin, int64_t end) noexcept nogil
    @cython.locals(previous=int64_t)
    cdef bint _is_in_gap(self, int64_t begin, int64_t end) noexcept nogil
    @cython.locals(lost_until=int64_t)
    cdef bint _is_first_time(self, LongMap ends, int64_t stream, int64_t begin, int64_t end) except -1 nogil
