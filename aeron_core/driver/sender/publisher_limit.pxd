cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.logbuffer.cleaner cimport clean_step
from aeron_core.logbuffer.descriptor cimport LogBuffer


@cython.final
cdef class PublisherLimit:
    cdef LogBuffer _log
    cdef AtomicCounter _counter     # read by publishers; written by the sender only
    cdef int64_t _window_length     # at most half a term
    cdef int64_t _clean_position    # the log is clean up to a term before this position

    cdef int64_t get(self) noexcept nogil
    @cython.locals(limit=int64_t)
    cdef int32_t advance(self, int64_t consumer_position) except -1 nogil
    cdef int32_t lower_to(self, int64_t position) except -1 nogil
    @cython.locals(gap=int64_t)
    cdef bint _is_clean_for(self, int64_t limit) noexcept nogil
