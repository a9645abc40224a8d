cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.pointers cimport LongMap
from aeron_core.driver.agents.rate_limit cimport RateLimit
from aeron_core.driver.sender.live_receivers cimport LiveReceivers

cdef int64_t _PROVED


@cython.final
cdef class ReceiverProofs:
    cdef readonly int64_t secret
    cdef LongMap _states        # receiver id -> time of the last request, or _PROVED
    cdef RateLimit _requests

    cpdef bint is_proved(self, int64_t receiver_id) noexcept nogil
    @cython.locals(asked_ns=int64_t)
    cpdef bint take_request(self, int64_t receiver_id, int64_t now_ns) except -1 nogil
    cpdef bint on_reply(self, int64_t receiver_id, int64_t number) except -1 nogil
    cpdef int32_t forget(self, int64_t receiver_id) except -1 nogil
    @cython.locals(slot=int32_t)
    cpdef int32_t forget_all_but(self, LiveReceivers live) except -1 nogil
