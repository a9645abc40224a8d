cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from aeron_core._native cimport pointers
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.park cimport Bell

from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.stream_activity cimport StreamActivity
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition, SubscriberPositions
from aeron_core.logbuffer.cleaner cimport clean_step
from aeron_core.logbuffer.descriptor cimport LogBuffer


@cython.final
cdef class IpcPublication:
    cdef readonly int64_t registration_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly LogBuffer log
    cdef readonly AtomicLong state              # a PUBLICATION_…, written by the conductor
    cdef readonly AtomicLong consumer_position  # of the fastest subscriber so far
    cdef readonly AtomicLong is_rung            # 0 once a publisher does not ring; written by the conductor
    cdef readonly SubscriberPositions subscribers  # used by the sender only
    cdef StreamActivity activity
    cdef int64_t _last_producer_position        # at the last visit
    cdef AtomicCounter _publisher_position         # for tools
    cdef AtomicCounter _publisher_limit            # read by publishers; written by the sender only
    cdef int64_t _window_length
    cdef int64_t _trip_gain                     # bytes that subscribers move before the limit is updated
    cdef int64_t _trip_limit                    # the limit is published when it exceeds this
    cdef int64_t _clean_position                # consumed data before it is zeroed
    cdef Bell _bell                             # of coroutines that wait for messages
    cdef bint _is_connected                     # as last stored in the log

    @cython.locals(seen=uint64_t, attention=int32_t)
    cdef bint calm(self, int64_t now_ns) except -1 nogil
    @cython.locals(consumed=int64_t)
    cdef int64_t add_subscriber(self, SubscriberPosition subscriber) except -1 nogil
    @cython.locals(producer_position=int64_t, highest=int64_t, lowest=int64_t, work=int32_t, is_new=bint)
    cdef int32_t update_limit(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t)
    cdef bint may_rest(self) except -1 nogil
    @cython.locals(limit=int64_t)
    cdef int32_t _advance(self, int64_t lowest) except -1 nogil
    cdef int32_t _set_connected(self, bint is_connected) except -1 nogil
