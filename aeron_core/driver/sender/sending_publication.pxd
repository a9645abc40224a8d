cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.park cimport Bell
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.stream_activity cimport StreamActivity
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition, SubscriberPositions
from aeron_core.driver.sender.publisher_limit cimport PublisherLimit
from aeron_core.driver.sender.retransmit_handler cimport Resender
from aeron_core.spi.endpoints cimport SendChannelEndpoint


cdef class SendingPublication(Resender):
    cdef readonly int64_t registration_id
    cdef readonly SendChannelEndpoint endpoint
    cdef readonly AtomicLong state              # a PUBLICATION_…, written by the conductor
    cdef readonly AtomicLong is_end_of_stream   # 1 once no more data follows; written by the conductor
    cdef readonly AtomicLong has_receivers      # 1 while a receiver is alive
    cdef readonly AtomicLong has_unicast_eos    # 1 once the only receiver has left the stream
    cdef readonly AtomicLong is_rung            # 0 once a publisher does not ring; written by the conductor
    cdef readonly AtomicCounter sender_position  # sent, or confirmed by the peer, up to here; written by the sender
    cdef readonly AtomicCounter sender_limit     # position that receivers allow; written by the sender
    cdef readonly SubscriberPositions spies      # local subscribers of the log; used by the sender only
    cdef StreamActivity activity
    cdef int64_t _last_producer_position        # at the last call of `update_limit`
    cdef Bell _bell                             # of coroutines that wait with a spy
    cdef bint _is_connected                     # as last stored in the log
    cdef AtomicCounter _publisher_position      # for tools
    cdef PublisherLimit _publisher_limit

    cdef bint calm(self, int64_t now_ns) except -1 nogil
    cdef int64_t add_spy(self, SubscriberPosition spy) except -1 nogil
    cdef int32_t send_pending(self, int64_t now_ns) except -1 nogil
    cdef bint may_rest(self) except -1 nogil
    @cython.locals(work=int32_t, producer_position=int64_t, lowest=int64_t)
    cdef int32_t update_limit(self, int64_t now_ns) except -1 nogil
    cdef bint _has_subscribers(self, int64_t now_ns) except -1 nogil
    cdef int32_t _set_connected(self, bint is_connected) except -1 nogil
