cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget
from aeron_media.lumberjack._native cimport faults, wire
from aeron_media.lumberjack.codec.envelope cimport Envelope
from aeron_media.lumberjack.codec.event_sink cimport EventSink
from aeron_media.lumberjack.codec.pairs cimport Pairs


@cython.final
cdef class FrameParser:
    cdef EventSink _sink
    cdef int64_t _max_event_length
    cdef int64_t _max_frame_length
    cdef int64_t _max_compressed_length
    cdef int64_t _max_nesting
    cdef int32_t _depth                   # number of C frames around this parser's input
    cdef Pairs _pairs                     # D frame that is being read
    cdef Envelope _envelope               # C frame that is being read
    cdef FrameParser _inner               # parser of the content of C frames, None at the maximum depth
    cdef int64_t _outermost               # used bytes of the outermost C frame; 0 outside of C frames
    cdef readonly int32_t fault           # `faults`
    cdef readonly int64_t fault_value     # value received
    cdef readonly int64_t fault_limit     # limit that was exceeded
    cdef readonly bint is_blocked         # the sink applies back pressure
    cdef readonly bint is_between_frames  # no frame is incomplete
    cdef readonly int64_t wanted          # minimum number of bytes that the incomplete frame needs
    cdef readonly int64_t inflated_length  # bytes inflated from C frames
    cdef readonly int64_t junk_length     # bytes after the ends of zlib streams

    cpdef int32_t reset(self) except -1 nogil
    @cython.locals(done=int64_t, step=int64_t)
    cpdef int64_t parse(self, AtomicBuffer buffer, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(version=uint8_t, frame_type=uint8_t)
    cdef int64_t _parse_frame(self, AtomicBuffer buffer, int64_t at, int64_t left) except? -1 nogil
    cdef int64_t _parse_short(
        self, AtomicBuffer buffer, int64_t at, int64_t left, uint8_t frame_type
    ) except? -1 nogil
    @cython.locals(payload_length=int64_t, length=int64_t)
    cdef int64_t _parse_json(self, AtomicBuffer buffer, int64_t at, int64_t left) except? -1 nogil
    cdef int64_t _parse_pairs(self, AtomicBuffer buffer, int64_t at, int64_t left) except? -1 nogil
    cdef int64_t _parse_window(self, AtomicBuffer buffer, int64_t at) except? -1 nogil
    @cython.locals(length=int64_t)
    cdef int64_t _begin_compressed(self, AtomicBuffer buffer, int64_t at) except? -1 nogil
    @cython.locals(done=int64_t, used=int64_t)
    cdef int64_t _parse_compressed(self, AtomicBuffer buffer, int64_t at, int64_t left) except? -1 nogil
    @cython.locals(parsed=int64_t)
    cdef bint _parse_inner(self) except -1 nogil
    cdef int64_t _end_compressed(self, int64_t left) except? -1 nogil
    cdef int32_t _forget_totals(self) except -1 nogil
    cdef bint _is_taken(self, int32_t answer, int64_t value) except -1 nogil
    cdef int64_t _wait_for(self, int64_t length) except? -1 nogil
    cdef int64_t _set_fault(self, int32_t fault, int64_t value, int64_t limit) except? -1 nogil
