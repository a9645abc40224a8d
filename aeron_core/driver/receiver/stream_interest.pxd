cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.pointers cimport LongMap, PointerMap
from aeron_core.driver._native cimport operations
from aeron_core.driver.receiver.awaited_images cimport AwaitedImages


@cython.locals(kind=int64_t)
cdef bint has_deadline(int64_t state) noexcept nogil
cpdef bint is_expired(int64_t state, int64_t now_ns) noexcept nogil


@cython.final
cdef class StreamInterest:
    cdef readonly int32_t stream_id
    cdef AwaitedImages _awaited  # permits of sessions in INIT_IN_PROGRESS
    cdef bint _is_all_sessions  # a subscription without a session id
    cdef LongMap _sessions      # session id -> 1 for a session with a subscription of its own
    cdef LongMap _states        # session id -> state of a session without an image
    cdef PointerMap _images     # session id -> PublicationImage, borrowed
    cdef int32_t _in_progress   # number of sessions in INIT_IN_PROGRESS
    cdef int32_t _cool_downs    # number of sessions in COOL_DOWN
    cdef int64_t _stale_from_ns  # frames cause no scan for stale states before this time

    cdef bint wants(self, int32_t session_id) noexcept nogil
    cdef bint has_capacity(self, int64_t now_ns) noexcept nogil
    @cython.locals(slot=int32_t, earliest_ns=int64_t)
    cdef int32_t forget_stale(self, int64_t now_ns) noexcept nogil
    @cython.locals(state=int64_t)
    cdef int64_t _stale_from(self, int32_t slot, int64_t now_ns) noexcept nogil
    cdef int32_t set_no_interest(self, int32_t session_id, int64_t now_ns) except -1 nogil
    @cython.locals(deadline_ns=int64_t)
    cdef int32_t set_until(self, int32_t session_id, int64_t state, int64_t now_ns) except -1 nogil
    @cython.locals(state=int64_t, deadline_ns=int64_t)
    cdef int32_t expire_pending_soon(self, int32_t session_id, int64_t now_ns) except -1 nogil
    cdef int32_t set_in_progress(self, int32_t session_id, int64_t permit) except -1 nogil
    @cython.locals(state=int64_t)
    cdef bint is_in_progress(self, int32_t session_id) noexcept nogil
    cdef int32_t set_cool_down(self, int32_t session_id, int64_t last_frame_ns) except -1 nogil
    @cython.locals(slot=int32_t, found=int32_t)
    cdef int32_t _forget_silent(self) except -1 nogil
    cdef int32_t extend_cool_down(self, int32_t session_id, int64_t state, int64_t now_ns) except -1 nogil
    @cython.locals(state=int64_t)
    cdef bint is_cooling_down(self, int32_t session_id) noexcept nogil
    @cython.locals(permit=int64_t)
    cdef int64_t hand_over(self, int32_t session_id) noexcept nogil
    @cython.locals(permit=int64_t)
    cdef int32_t forget(self, int32_t session_id) except -1 nogil
    cdef bint is_at_limit(self, int32_t session_limit) noexcept nogil
    @cython.locals(slot=int32_t)
    cdef int32_t unsubscribe_all(self) except -1 nogil
