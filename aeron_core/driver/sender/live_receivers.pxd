cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport LongMap
from aeron_core.driver._native cimport operations


@cython.final
cdef class LiveReceivers:
    cdef int64_t _timeout_ns
    cdef int64_t _sweep_deadline_ns     # of the next scan: receivers are not forgotten before it
    cdef LongMap _times                 # receiver id -> time of its last status message, in ns

    cpdef int32_t count(self) noexcept nogil
    cpdef bint note(self, int64_t receiver_id, int64_t now_ns) except -1 nogil
    cpdef bint is_tracked(self, int64_t receiver_id) noexcept nogil
    cpdef bint forget(self, int64_t receiver_id) noexcept nogil
    @cython.locals(slot=int32_t, before=int32_t, earliest_ns=int64_t)
    cpdef int32_t forget_silent(self, int64_t now_ns) noexcept nogil
