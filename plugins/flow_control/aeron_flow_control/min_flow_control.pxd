cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.flow_control cimport FlowControl
from aeron_flow_control.receivers cimport Receivers

cdef int64_t _NO_HOLD


cdef class MinFlowControl(FlowControl):
    cdef bint _is_tagged
    cdef int64_t _group_tag
    cdef int64_t _group_min_size          # number of receivers required
    cdef int64_t _receiver_timeout_ns     # a receiver that is silent for longer is removed
    cdef readonly bint requires_proof     # read once, by the conductor
    cdef Receivers _receivers
    cdef AtomicCounter _receiver_count          # counter of receivers, for tools
    cdef bint _is_setup_for_group         # a receiver of the group requested the next setup
    cdef int64_t _hold_limit              # sender limit when that setup was sent, or _NO_HOLD
    cdef int64_t _hold_deadline_ns

    cdef bint _is_of_group(self, StatusMessage sm) except -1 nogil
    @cython.locals(has_ended=bint, index=int64_t, lowest=int64_t)
    cdef int _take_note(self, StatusMessage sm, int64_t receiver_limit, int64_t now_ns) except -1 nogil
    cdef int64_t _hold(self, int64_t now_ns) except? -1985229329 nogil


cdef class TaggedFlowControl(MinFlowControl):
    pass
