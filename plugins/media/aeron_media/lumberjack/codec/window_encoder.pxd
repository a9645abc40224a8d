cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget
from aeron_media.lumberjack._native cimport deflater, faults, json_text, wire
from aeron_media.lumberjack._native.deflater cimport Deflater


@cython.final
cdef class WindowEncoder:
    cdef MemoryBudget _budget
    cdef Deflater _deflater               # None without compression
    cdef readonly ByteQueue block         # encoded windows, back to back
    cdef ByteQueue _staged                # J frames not yet deflated; without compression this is `block`
    cdef ByteQueue _pieces                # pieces of the event to be wrapped
    cdef AtomicBuffer _wrapping           # prefix and suffix of a wrapped payload
    cdef bint _is_deflating
    cdef bint _is_wrapping
    cdef int64_t _max_window_length
    cdef int64_t _max_event_length
    cdef readonly bint is_open            # a window has begun
    cdef int64_t _plain_length            # bytes of the J frames of the window
    cdef int64_t _staged_length           # bytes of the event that is being staged, with its header
    cdef uint8_t _first                   # first non-blank byte of the staged event, 0 before there is one
    cdef uint8_t _last                    # last non-blank byte of the staged event
    cdef readonly int64_t count           # events in the open window
    cdef readonly int64_t ready           # bytes of finished windows
    cdef readonly int32_t fault           # fault of the last call
    cdef readonly int64_t fault_value
    cdef readonly int64_t fault_limit

    @cython.locals(is_ready=int32_t)
    cpdef int32_t begin(self) except? -1 nogil
    cpdef int32_t add(self, AtomicBuffer payload, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(answer=int32_t)
    cpdef int32_t begin_event(self, int64_t max_length) except? -1 nogil
    cpdef int32_t add_piece(self, AtomicBuffer payload, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(answer=int32_t)
    cpdef int32_t end_event(self) except? -1 nogil
    @cython.locals(length=int64_t)
    cpdef int64_t finish(self) except? -1 nogil
    cpdef int64_t consume(self, int64_t length) except? -1 nogil
    cpdef int32_t reset(self) except? -1 nogil
    cpdef int32_t release(self) except? -1 nogil
    cdef int32_t _reserve_event(self, int64_t length) except? -1 nogil
    cdef int32_t _stage_header(self) except? -1 nogil
    cdef int32_t _stage(self, AtomicBuffer payload, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(answer=int32_t, text_length=int64_t)
    cdef int32_t _stage_wrapped(self, AtomicBuffer payload, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(begin=int64_t, end=int64_t, value=uint8_t)
    cdef int32_t _note_ends(self, AtomicBuffer payload, int64_t offset, int64_t length) except? -1 nogil
    @cython.locals(payload_length=int64_t, begin=int64_t)
    cdef int32_t _end_staging(self) except? -1 nogil
    @cython.locals(answer=int32_t)
    cdef int32_t _deflate(self, bint is_last) except? -1 nogil
    cdef int32_t _put_number(self, int64_t frame, int64_t value) except? -1 nogil
    cdef int32_t _forget_event(self) except? -1 nogil
    cdef int32_t _abandon(self) except? -1 nogil
    cdef int32_t _fail(self) except? -1 nogil
    cdef int32_t _blame_length(self, int64_t length) noexcept nogil
    cdef int32_t _set_fault(self, int32_t fault, int64_t value, int64_t limit) noexcept nogil
