cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.recording._native cimport faults
from aeron_core.recording.storage.frame_scanner cimport FrameScanner
from aeron_core.recording.reading.message_columns cimport MessageColumns


@cython.final
cdef class MessageScanner:
    cdef readonly FrameScanner frames      # validates every frame; its fault is that of the frame at the stop
    cdef readonly bint is_assembling       # whether fragments are reassembled
    cdef readonly int64_t required_length  # length of a message that did not fit into the columns, or -1
    cdef readonly int64_t dropped          # incomplete messages, or stray fragments, dropped since the start

    @cython.locals(
        scanned=int64_t, step=int64_t, frame_length=int64_t, frame=int64_t, flags=uint8_t, frame_type=uint16_t
    )
    cpdef int64_t scan(
        self, AtomicBuffer data, int64_t begin, int64_t length, int64_t position, MessageColumns columns
    ) except -1 nogil
    @cython.locals(
        measured=int64_t, payload_length=int64_t, frame_length=int64_t, frame=int64_t, expected=uint8_t, flags=uint8_t,
        frame_type=uint16_t
    )
    cdef int64_t _take_fragments(
        self, AtomicBuffer data, int64_t begin, int64_t length, int64_t position, MessageColumns columns
    ) except -1 nogil
    @cython.locals(copied=int64_t, frame_length=int64_t)
    cdef int64_t _copy_fragments(
        self, AtomicBuffer data, int64_t begin, int64_t length, int64_t position, MessageColumns columns
    ) except -1 nogil
