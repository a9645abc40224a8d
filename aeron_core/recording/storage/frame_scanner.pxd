cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.recording._native cimport faults, sums


@cython.final
cdef class FrameScanner:
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t term_length              # bytes, a power of two
    cdef readonly int64_t frame_count              # valid frames in the last scan
    cdef readonly int64_t border_length            # bytes up to the last end of a message or padding, or 0
    cdef readonly int64_t padding_offset           # offset of the first padding from `begin`, or -1
    cdef readonly int64_t last_offset              # offset of the last valid frame from `begin`, or -1
    cdef readonly int32_t fault                    # why it stopped before the end, 0 if it did not
    cdef readonly int32_t found                    # value of the invalid field, or the bytes of an incomplete header
    cdef int32_t _position_bits_to_shift
    cdef bint _checks_session
    cdef int32_t _checksum                         # of the module `sums`

    @cython.locals(scanned=int64_t, frame_length=int64_t, available=int64_t, flags=uint8_t, frame_type=uint16_t)
    cpdef int64_t scan(self, AtomicBuffer data, int64_t begin, int64_t length, int64_t position) except -1 nogil
    @cython.locals(count=int64_t, at=int64_t)
    cpdef int64_t restamp(
        self, AtomicBuffer data, int64_t begin, int64_t length, int32_t session_id, int32_t stream_id
    ) except -1 nogil
    cdef int32_t fault_of(
        self, AtomicBuffer data, int64_t frame, int64_t position, int64_t available
    ) except -1 nogil
    @cython.locals(frame_length=int64_t, aligned_length=int64_t, left=int64_t, frame_type=uint16_t)
    cdef int32_t _fault_of_shape(
        self, AtomicBuffer data, int64_t frame, int64_t position, int64_t available
    ) except -1 nogil
    @cython.locals(term_id=int32_t, term_offset=int32_t, session_id=int32_t, stream_id=int32_t)
    cdef int32_t _fault_of_origin(self, AtomicBuffer data, int64_t frame, int64_t position) except -1 nogil
    @cython.locals(begin=int64_t, length=int64_t, found=uint32_t, is_right=cython.bint)
    cdef int32_t _fault_of_sum(self, AtomicBuffer data, int64_t frame) except -1 nogil
    cdef int32_t _set_fault(self, int32_t fault, int32_t found) except -1 nogil
