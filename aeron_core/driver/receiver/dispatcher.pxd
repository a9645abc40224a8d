cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.pointers cimport LongMap, PointerMap
from aeron_core.driver._native cimport operations
from aeron_core.driver.receiver.publication_image cimport PublicationImage
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher


@cython.locals(kind=int64_t)
cdef bint has_deadline(int64_t state) noexcept nogil
cdef bint is_expired(int64_t state, int64_t now_ns) noexcept nogil


@cython.final
cdef class StreamInterest:
    cdef readonly int32_t stream_id
    cdef bint _is_all_sessions
    cdef LongMap _sessions      # session id -> 1 where one session is subscribed
    cdef LongMap _states        # session id -> state of a session without an image
    cdef PointerMap _images     # session id -> PublicationImage, borrowed
    cdef int32_t _in_progress   # how many of the states say that an image is being made
    cdef int64_t _stale_from_ns  # until then it is no use to look for states that may be forgotten

    cdef bint wants(self, int32_t session_id) noexcept nogil
    cdef bint is_unused(self) noexcept nogil
    cdef bint has_room(self, int64_t now_ns) noexcept nogil
    @cython.locals(slot=int32_t, earliest_ns=int64_t)
    cdef int32_t forget_stale(self, int64_t now_ns) noexcept nogil
    @cython.locals(state=int64_t)
    cdef int64_t _stale_from(self, int32_t slot, int64_t now_ns) noexcept nogil
    cdef int32_t set_no_interest(self, int32_t session_id, int64_t now_ns) except -1 nogil
    @cython.locals(deadline_ns=int64_t)
    cdef int32_t set_until(self, int32_t session_id, int64_t state, int64_t now_ns) except -1 nogil
    cdef int32_t set_in_progress(self, int32_t session_id) except -1 nogil
    cdef int32_t forget(self, int32_t session_id) noexcept nogil
    cdef bint is_at_limit(self, int32_t session_limit) noexcept nogil
    @cython.locals(slot=int32_t)
    cdef int32_t unsubscribe_all(self) noexcept nogil


cdef class Dispatcher(ReceiveDispatcher):
    cdef PointerMap _interests              # stream id -> StreamInterest, borrowed
    cdef SystemCounters _counters
    cdef CommandRing _conductor
    cdef Command _event
    cdef StatusMessage _elicitation
    cdef int32_t _session_limit
    cdef SocketAddress _nobody              # where an endpoint knows better whom to ask

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
    @cython.locals(is_refused=bint, operation=int32_t)
    cdef int32_t _request_image(
        self, ReceiveChannelEndpoint endpoint, StreamInterest interest, Setup setup, SocketAddress source,
        int64_t now_ns
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
