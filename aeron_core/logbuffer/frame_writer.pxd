cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport frames, positions, runs, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.descriptor cimport LogBuffer


cdef int32_t RUN_LIMIT

@cython.final
cdef class FrameWriter:
    cdef readonly LogBuffer log
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef AtomicBuffer _buffer           # of the log
    cdef int32_t _max_payload_length    # bytes

    cdef int write_message(
        self, int64_t position, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except -1 nogil
    @cython.locals(remaining=int64_t, payload_length=int32_t, flags=int32_t, frame=int64_t)
    cdef int write_fragments(
        self, int64_t position, AtomicBuffer source, int64_t source_offset, int32_t length, int64_t reserved_value
    ) except -1 nogil
    @cython.locals(remaining=int64_t, payload_length=int32_t, flags=int32_t, frame=int64_t)
    cdef int write_parts(self, int64_t position, tuple parts, int32_t length, int64_t reserved_value) except -1
    @cython.locals(part=AtomicBuffer, filled=int32_t, part_index=int64_t, part_offset=int64_t, chunk=int64_t)
    cdef int64_t _gather(self, int64_t offset, tuple parts, int64_t skip, int32_t length) except -1
    cdef int write_padding(self, int64_t position, int32_t length) except -1 nogil
    cdef int write_claim(self, int64_t position, BufferClaim claim, int32_t length) except -1 nogil
    cdef int64_t measure_run(
        self, AtomicBuffer data, AtomicBuffer boundaries, int64_t first, int64_t count, int64_t space, int64_t allowance
    ) except -1 nogil
    @cython.locals(run_length=int64_t, left=int64_t)
    cdef int write_run(
        self, int64_t position, int64_t run, AtomicBuffer data, AtomicBuffer boundaries, int64_t first,
        int64_t reserved_value
    ) except -1 nogil
    cdef int _begin(
        self, int64_t position, int64_t frame, int64_t mark, int32_t flags, int64_t reserved_value
    ) except -1 nogil

cpdef int64_t length_of_message(AtomicBuffer data, AtomicBuffer boundaries, int64_t index) except -2 nogil
cpdef int check_message(AtomicBuffer data, AtomicBuffer boundaries, int64_t index) except -1 nogil
cpdef int check_range(AtomicBuffer boundaries, int64_t first, int64_t count) except -1 nogil
cpdef int64_t length_of_parts(tuple parts) except -1
cdef int _refuse_range(int64_t first, int64_t count, int64_t entries) except -1 with gil
cdef int _refuse_message(int64_t index, int64_t begin, int64_t end, int64_t capacity) except -1 with gil
