cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList, QuietList
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.data_agent cimport DataAgent
from aeron_core.driver.agents.stream_activity cimport StreamActivity, StreamTurns
from aeron_core.driver.sender.control_frames cimport HeartbeatBunch
from aeron_core.driver.sender.ipc_publication cimport IpcPublication
from aeron_core.driver.sender.sending_publication cimport SendingPublication
from aeron_core.driver.agents.polled_endpoints cimport PolledSendEndpoints
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition


cdef class Sender(DataAgent):
    cdef PolledSendEndpoints _endpoints
    cdef HeartbeatBunch _heartbeats
    cdef PointerList _active                # of SendingPublication, visited in every duty cycle
    cdef PointerList _active_ipc            # of IpcPublication
    cdef QuietList _quiet                   # of the StreamActivity of all others
    cdef StreamTurns _turns                 # of these
    cdef bint _is_heard                     # publishers that ring end the next wait
    cdef bint _must_look                    # at the logs of all quiet streams in the next duty cycle
    cdef int32_t _round_robin               # index of the first publication of the next cycle
    cdef int32_t _next_to_send              # next index of each walk: 0, except after a stream that raised
    cdef int32_t _next_limit
    cdef int32_t _next_ipc_limit
    cdef int32_t _poll_ratio                # duty cycles with sends per poll of the sockets
    cdef int32_t _sends_since_poll
    cdef int64_t _poll_interval_ns
    cdef int64_t _poll_deadline_ns

    @cython.locals(i=int32_t, until_ns=int64_t)
    cdef int64_t rest_ns(self, int64_t longest_ns) except -1 nogil
    cdef int32_t attend(self, bint is_heard) noexcept nogil
    cdef bint has_received(self) noexcept nogil
    cdef int32_t _execute(self) except -1 nogil
    cdef int32_t _execute_on_endpoint(self) except -1 nogil
    cdef int32_t _execute_on_subscriber(self) except -1 nogil
    @cython.locals(count=int32_t)
    cdef int32_t _activate(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, sent=int32_t, count=int32_t)
    cdef int32_t _send(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, work=int32_t)
    cdef int32_t _update_limits(self, int64_t now_ns) except -1 nogil
