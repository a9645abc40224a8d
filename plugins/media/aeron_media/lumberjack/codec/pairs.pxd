cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget
from aeron_media.lumberjack._native cimport faults, json_text, wire


@cython.final
cdef class Pairs:
    cdef ByteQueue text                   # the event, once the frame is complete
    cdef MemoryBudget _budget
    cdef int64_t _max_event_length
    cdef int64_t _max_frame_length
    cdef int64_t _max_pairs
    cdef int64_t _strings_left            # keys and values not yet scanned; -1 before the pair count is read
    cdef int64_t _scanned                 # bytes of the frame up to the end of the last scanned string
    cdef int64_t wanted                   # bytes that the frame needs at least
    cdef int32_t fault
    cdef int64_t fault_value
    cdef int64_t fault_limit

    @cython.locals(count=int64_t)
    cdef bint read(self, AtomicBuffer buffer, int64_t at, int64_t left) except -1 nogil
    @cython.locals(end=int64_t)
    cdef bint _scan(self, AtomicBuffer buffer, int64_t at, int64_t left) except -1 nogil
    @cython.locals(length=int64_t)
    cdef bint _build(self, AtomicBuffer buffer, int64_t at) except -1 nogil
    @cython.locals(length=int64_t, offset=int64_t, step=int64_t)
    cdef int64_t _text_length(self, AtomicBuffer buffer, int64_t at) except -1 nogil
    @cython.locals(offset=int64_t, step=int64_t, is_key=cython.bint)
    cdef int32_t _write(self, AtomicBuffer buffer, int64_t at) except -1 nogil
    cdef int64_t end(self) except -1 nogil
    cdef int32_t reset(self) except -1 nogil
    cdef int32_t release(self) except -1 nogil
    cdef bint _set_fault(self, int32_t fault, int64_t value, int64_t limit) except -1 nogil
