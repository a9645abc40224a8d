cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport positions, wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.logbuffer.descriptor cimport LogBuffer


@cython.final
cdef class Header:
    cdef readonly object image      # the Image that the frame arrived in
    cdef LogBuffer _log
    cdef AtomicBuffer _buffer       # memory that holds the frame: the log, or a copy of the header only
    cdef int64_t _offset            # of the frame in `_buffer`
    cdef int64_t _span              # bytes of all frames of a reassembled message, 0 for a single frame


    cdef void move_to(self, int64_t offset) noexcept nogil
    cdef int64_t span(self) except? -1985229329 nogil
    cdef int64_t position_of(self) except? -1985229329 nogil
    cdef int64_t position_before(self) except? -1985229329 nogil
    cdef int complete(self, int64_t length, int64_t span) except -1
