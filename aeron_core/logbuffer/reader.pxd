cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport frames, positions, runs, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer


@cython.final
cdef class TermReader:
    cdef readonly LogBuffer log
    cdef readonly int64_t position         # position after what the last call read or skipped
    cdef readonly int32_t frame_length     # bytes of the frame that `next_frame` found, header included
    cdef readonly int64_t required_length  # bytes of a message that did not fit into the last batch, or 0
    cdef readonly int64_t dropped          # total number of fragments of incomplete messages that were dropped
    cdef AtomicBuffer _buffer              # of the log
    cdef AtomicBuffer _assembly            # fragments read so far of an incomplete message
    cdef int64_t _assembled_length         # bytes in `_assembly`
    cdef int64_t _assembled_frames         # fragments in `_assembly`
    cdef int64_t _next_position            # expected position of the next fragment, -1 if no message is incomplete
    cdef int64_t _first_reserved_value     # reserved value of the frame that began the message
    cdef int32_t _term_length              # bytes
    cdef int32_t _position_bits_to_shift
    cdef int32_t _max_message_length       # bytes

    @cython.locals(offset=int64_t, left=int64_t, frame_length=int32_t)
    cpdef int64_t next_frame(self, int64_t position, int64_t limit_position) except -2 nogil
    @cython.locals(length=int64_t, frame_type=uint16_t)
    cpdef int64_t scan_block(self, int64_t position, int64_t block_length_limit) except -2 nogil
    @cython.locals(first_count=int64_t, offset=int64_t, left=int64_t, step=int64_t)
    cpdef int64_t read_batch(
        self, int64_t position, int64_t limit_position, int64_t max_messages, BatchBuffer batch
    ) except -2 nogil

    @cython.locals(first=int64_t, taken=int64_t)
    cdef int64_t _copy_run(
        self, int64_t position, int64_t offset, int64_t left, int64_t limit_position, int64_t count,
        BatchBuffer batch
    ) except -2 nogil
    @cython.locals(flags=int32_t)
    cdef int64_t _take_other(
        self, int64_t position, int64_t offset, int64_t left, int64_t limit_position, BatchBuffer batch
    ) except -2 nogil
    cdef int64_t _take_fragments(
        self, int64_t position, int64_t limit_position, int32_t flags, BatchBuffer batch
    ) except -2 nogil
    @cython.locals(
        begin=int64_t, left=int64_t, reach=int64_t, measured=int64_t, payload_length=int64_t, expected=int32_t,
        flags=int32_t, frame_type=uint16_t
    )
    cdef int64_t _measure_message(self, int64_t position, int64_t limit_position) except -2 nogil
    @cython.locals(begin=int64_t, measured=int64_t, copied=int64_t)
    cdef int64_t _copy_fragments(self, int64_t position, int64_t message, BatchBuffer batch) except -2 nogil
    cdef int64_t _assemble(self, int64_t position, int32_t flags, BatchBuffer batch) except -2 nogil
    cdef int _drop(self) noexcept nogil
    cdef int _forget(self) noexcept nogil
    cdef int _grow_assembly(self, int64_t length) except -1 with gil
    cdef int64_t _offset_of(self, int64_t position) noexcept nogil
    cdef int64_t _left_in_term(self, int64_t position) noexcept nogil
    cdef int32_t _length_at(self, int64_t offset, int64_t left) except -1 nogil
    cdef int _refuse(self, int64_t offset, int32_t frame_length, int64_t left) except -1 with gil
