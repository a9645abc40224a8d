cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget
from aeron_media.lumberjack._native cimport faults, inflater
from aeron_media.lumberjack._native.inflater cimport Inflater


@cython.final
cdef class Envelope:
    cdef ByteQueue queue                  # inflated bytes that are not parsed yet
    cdef Inflater _inflater
    cdef MemoryBudget _budget
    cdef int64_t _max_inflated_length
    cdef int64_t _max_ratio
    cdef int64_t left                     # unused bytes of the C frame, -1 between frames
    cdef int64_t total_in                 # used bytes of C frames at this depth, within the outermost one
    cdef int64_t total_out                # bytes inflated from them
    cdef int64_t made                     # bytes inflated by the last call
    cdef bint is_finished                 # the zlib stream has ended
    cdef bint is_starved                  # no output because the input ran out
    cdef int32_t fault
    cdef int64_t fault_value
    cdef int64_t fault_limit

    cdef int32_t begin(self, int64_t length) except -1 nogil
    @cython.locals(result=int32_t, is_stuck=cython.bint)
    cdef int64_t inflate(
        self, AtomicBuffer buffer, int64_t offset, int64_t available, int64_t wanted, int64_t outermost
    ) except -1 nogil
    cdef int32_t _reserve_queue(self, int64_t wanted) except -1 nogil
    cdef int64_t skip(self, int64_t available) except -1 nogil
    cdef int32_t end(self) except -1 nogil
    cdef int32_t reset(self) except -1 nogil
    cdef int32_t _set_fault(self, int32_t fault, int64_t value, int64_t limit) except -1 nogil
