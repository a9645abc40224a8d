cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.pointers cimport PointerMap
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.rate_limit cimport RateLimit
from aeron_core.driver.receiver.awaited_images cimport AwaitedImages
from aeron_core.driver.receiver.publication_image cimport PublicationImage
from aeron_core.driver.receiver.stream_interest cimport StreamInterest, is_expired
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher


cdef class Dispatcher(ReceiveDispatcher):
    cdef PointerMap _interests              # stream id -> StreamInterest, borrowed
    cdef SystemCounters _counters
    cdef CommandRing _conductor             # events to the conductor, shared with the other dispatchers
    cdef Command _event                     # reused for each event
    cdef StatusMessage _elicitation         # status message that only requests a SETUP
    cdef int32_t _session_limit             # maximum number of images of one stream id
    cdef AwaitedImages _awaited             # permits of images without data, shared with the other dispatchers
    cdef RateLimit _refusals                # reported to the conductor
    cdef SocketAddress _no_address          # of a setup request: the endpoint uses its control address

    cdef int32_t elicit_setup(
        self, ReceiveChannelEndpoint endpoint, int32_t session_id, int32_t stream_id
    ) except -1 nogil

    @cython.locals(state=int64_t)
    cdef int32_t _on_unknown_session(
        self, ReceiveChannelEndpoint endpoint, StreamInterest interest, int32_t session_id, SocketAddress source,
        int64_t now_ns
    ) except -1 nogil
    cdef int32_t _elicit_setup(
        self, ReceiveChannelEndpoint endpoint, int32_t session_id, int32_t stream_id, SocketAddress source
    ) except -1 nogil
    @cython.locals(permit=int64_t)
    cdef int32_t _request_image(
        self, ReceiveChannelEndpoint endpoint, StreamInterest interest, Setup setup, SocketAddress source,
        int64_t now_ns
    ) except -1 nogil
    cdef int32_t _refuse(
        self, ReceiveChannelEndpoint endpoint, Setup setup, SocketAddress source, int64_t reason, int64_t now_ns
    ) except -1 nogil
    cdef bint _report(
        self, int32_t operation, ReceiveChannelEndpoint endpoint, Setup setup, SocketAddress source, int64_t reason
    ) except -1 nogil
    cdef int32_t add_interest(self, StreamInterest interest) except -1 nogil
    cdef int32_t remove_interest(self, StreamInterest interest) except -1 nogil
    cdef int32_t subscribe_all(self, StreamInterest interest) except -1 nogil
    cdef int32_t unsubscribe_all(self, StreamInterest interest) except -1 nogil
    cdef int32_t subscribe_session(self, StreamInterest interest, int32_t session_id) except -1 nogil
    cdef int32_t unsubscribe_session(self, StreamInterest interest, int32_t session_id) except -1 nogil
    cdef int32_t add_image(self, PublicationImage image) except -1 nogil
    cdef int32_t remove_image(self, PublicationImage image) except -1 nogil
    cdef int32_t remove_cool_down(self, int32_t session_id, int32_t stream_id) except -1 nogil
    cdef int32_t forget_session(self, int32_t session_id, int32_t stream_id) except -1 nogil
