cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core.driver.sender.sending_publication cimport SendingPublication

cdef int64_t _MAX_REPORTED


cdef class AcknowledgedPublication(SendingPublication):
    cdef int64_t _window_length         # half a term

    @cython.locals(position=int64_t, confirmed=int64_t)
    cdef int32_t send_pending(self, int64_t now_ns) except -1 nogil
    cdef bint _has_subscribers(self, int64_t now_ns) except -1 nogil
