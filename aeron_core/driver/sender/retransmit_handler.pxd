cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core.driver._native cimport operations
from aeron_core.spi.endpoints cimport SendStream
from aeron_core.spi.flow_control cimport FlowControl


cdef struct Retransmit:
    int32_t term_id
    int32_t term_offset
    int32_t length
    int32_t state
    int64_t expiry_ns


cdef class Resender(SendStream):
    cdef int32_t resend(self, int32_t term_id, int32_t term_offset, int32_t length) except -1 nogil


@cython.final
cdef class RetransmitHandler:
    cdef Retransmit _actions[wire.MAX_RESEND_LIMIT]
    cdef int32_t _capacity          # usable actions: 1 if there is only one receiver
    cdef int32_t _active_count      # actions that are delayed or lingering
    cdef bint _is_group             # several receivers: several gaps at a time
    cdef int64_t _delay_ns
    cdef int64_t _linger_ns
    cdef int32_t _initial_window_length  # of a receiver, as configured here

    @cython.locals(slot=int32_t, resend_length=int32_t)
    cdef int32_t on_nak(
        self, Resender resender, FlowControl flow_control, int32_t term_id, int32_t term_offset, int32_t length,
        int32_t term_length, int64_t now_ns
    ) except -1 nogil
    @cython.locals(i=int32_t, work=int32_t)
    cdef int32_t process_timeouts(self, Resender resender, int64_t now_ns) except -1 nogil
    # Whether actions are delayed or lingering.
    cdef inline bint is_active(self) noexcept nogil:
        return self._active_count > 0

    @cython.locals(i=int32_t, earliest_ns=int64_t)
    cdef int64_t next_expiry_ns(self, int64_t latest_ns) noexcept nogil
    @cython.locals(i=int32_t, available=int32_t)
    cdef int32_t _slot_for(self, int32_t term_id, int32_t term_offset) noexcept nogil
    @cython.locals(window=int64_t, longest=int64_t)
    cdef int32_t _resend_length(
        self, FlowControl flow_control, int32_t term_offset, int32_t length, int32_t term_length
    ) noexcept nogil
