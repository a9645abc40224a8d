cimport cython
from libc.stdint cimport int64_t, uint8_t

from aeron_core._native cimport positions, wire
from aeron_core.logbuffer.descriptor cimport LogBuffer


@cython.final
cdef class LogMessage:
    cdef readonly bint is_message         # false for padding, and for fragments to skip
    cdef readonly int64_t step            # bytes to the next message
    cdef readonly int64_t offset          # offset of the first frame
    cdef readonly int64_t payload_length
    cdef readonly int64_t reserved_value  # reserved value of the first frame

    @cython.locals(offset=int64_t, length=int64_t, flags=uint8_t)
    cdef bint read(self, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(offset=int64_t, length=int64_t)
    cdef bint _scan_fragments(self, LogBuffer log) except -1 nogil
