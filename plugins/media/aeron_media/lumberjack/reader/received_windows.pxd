cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_media.lumberjack._native cimport bounds, wire
from aeron_media.lumberjack.ack_queue cimport AckQueue


@cython.final
cdef class ReceivedWindows:
    cdef readonly AckQueue acks
    cdef readonly uint8_t version             # version of the last W
    cdef readonly int64_t length              # number of events that the last W announced
    cdef readonly int64_t left                # events of the window that have not arrived
    cdef readonly int64_t last_position       # end position of the last event
    cdef bint _is_explicit                    # the current window was announced by a W
    cdef bint _was_implicit                   # the newest entry of `acks` is for an implicit window
    cdef int64_t _max_window
    cdef int64_t _uncovered                   # events not yet covered by an entry of `acks`
    cdef uint32_t _last_sequence
    cdef int64_t _total                       # events of the connection, up to the last one

    cdef int32_t clear(self) noexcept nogil
    cdef bint can_begin(self) noexcept nogil
    @cython.locals(is_progress=cython.bint)
    cdef int32_t begin(self, uint8_t version, int64_t length) except -1 nogil
    cdef int32_t add_event(self, uint32_t sequence, int64_t position, int64_t total) except -1 nogil
    cdef int32_t cover(self) except -1 nogil
    cdef int32_t end_window(self) except -1 nogil
    cdef bint is_covered(self) noexcept nogil
    cdef bint is_unfinished(self) noexcept nogil
