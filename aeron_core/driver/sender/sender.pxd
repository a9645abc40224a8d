cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.data_agent cimport DataAgent
from aeron_core.driver.agents.stream_activity cimport StreamTurns
from aeron_core.driver.sender.ipc_publication cimport IpcPublication
from aeron_core.driver.sender.sending_publication cimport SendingPublication
from aeron_core.driver.agents.polled_endpoints cimport PolledSendEndpoints
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition


cdef class Sender(DataAgent):
    cdef PolledSendEndpoints _endpoints
    cdef PointerList _publications          # of SendingPublication
    cdef PointerList _active                # of them, those that are visited in every duty cycle
    cdef StreamTurns _turns                 # of the others
    cdef PointerList _ipc_publications      # of IpcPublication, and the same for these
    cdef PointerList _active_ipc
    cdef StreamTurns _ipc_turns
    cdef bint _are_few                      # all streams are active
    cdef int32_t _round_robin               # index of the first publication of the next cycle
    cdef int32_t _next_to_send              # next index of each walk: 0, except after a stream that raised
    cdef int32_t _next_limit
    cdef int32_t _next_ipc_limit
    cdef int32_t _poll_ratio                # duty cycles with sends per poll of the sockets
    cdef int32_t _sends_since_poll
    cdef int64_t _poll_interval_ns
    cdef int64_t _poll_deadline_ns

    @cython.locals(i=int32_t)
    cdef bint may_rest(self) except -1 nogil
    cdef int32_t _execute(self) except -1 nogil
    cdef int32_t _execute_on_endpoint(self) except -1 nogil
    cdef int32_t _execute_on_subscriber(self) except -1 nogil
    @cython.locals(count=int32_t)
    cdef int32_t _activate(self, int64_t now_ns) except -1 nogil
    cdef int32_t _count_streams(self) noexcept nogil
    @cython.locals(index=int32_t, sent=int32_t, count=int32_t)
    cdef int32_t _send(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, work=int32_t)
    cdef int32_t _update_limits(self, int64_t now_ns) except -1 nogil
