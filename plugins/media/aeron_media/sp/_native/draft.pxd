cimport cython
from libc.stdint cimport int32_t, int64_t
from posix.uio cimport iovec

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue
from aeron_core._native.connections cimport ByteConnection

cdef enum:
    MAX_BODIES = 64
    MAX_PIECES = 128


@cython.final
cdef class Draft:
    cdef ByteQueue _queue
    cdef readonly int64_t body_length   # bytes of bodies that were not sent yet
    cdef int64_t _runs[MAX_BODIES]      # bytes of the queue before each body
    cdef int64_t _offsets[MAX_BODIES]   # offset in the log of the frame at which the rest of each body begins
    cdef int64_t _lefts[MAX_BODIES]     # bytes of each body that were not sent yet
    cdef int64_t _run_length            # sum of all runs
    cdef int64_t _skipped               # bytes of the first frame's payload that were sent
    cdef int32_t _first
    cdef int32_t _count

    # Return the number of bytes that were not sent yet.
    cdef inline int64_t left(self) noexcept nogil:
        return self._queue.size + self.body_length

    cdef inline bint takes_bodies(self) noexcept nogil:
        return self._count < MAX_BODIES

    cdef int32_t add_body(self, int64_t offset, int64_t length) noexcept nogil
    cdef int64_t send(self, ByteConnection connection, AtomicBuffer log) except -1 nogil
    cdef int32_t drop_bodies(self) noexcept nogil
    cdef int32_t _lay_out(self, iovec *pieces, AtomicBuffer log) except -1 nogil
    cdef int32_t _consume(self, int64_t sent, AtomicBuffer log) except -1 nogil
    cdef int64_t _consume_body(self, int64_t sent, AtomicBuffer log) except -1 nogil
