cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher
from aeron_media._native cimport limits


@cython.final
cdef class FeedStreams:
    cdef int32_t session_id
    cdef int32_t count                        # number of streams
    cdef int64_t limit                        # lowest limit of all streams; NO_POSITION while one has no image
    cdef bint had_stream                      # an image existed at some time
    cdef AtomicBuffer ids                     # stream ids in use, int32 each
    cdef AtomicBuffer _limits                 # limit of each stream, int64; NO_POSITION while it has no image
    cdef AtomicBuffer _wanted                 # stream ids, int32 each
    cdef SocketAddress _source
    cdef int32_t _term_length
    cdef int32_t _bits
    cdef int32_t _window_length
    cdef Setup _setup
    cdef ReceiveChannelEndpoint _endpoint
    cdef ReceiveDispatcher _dispatcher
    cdef int64_t _time_of_last_setup_ns
    cdef int64_t _refresh_ns
    cdef int64_t _join_deadline_ns            # until then, streams that join delay the others

    cdef int32_t begin(self, int32_t session_id, int32_t initial_term_id, int64_t now_ns) except -1 nogil
    cdef bint is_refresh_due(self, int64_t now_ns) noexcept nogil
    @cython.locals(count=int32_t, stream_id=int32_t, index=int32_t)
    cdef int32_t refresh(self, int64_t now_ns) except -1 nogil
    cdef int32_t work(self, int64_t position, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _give_up_joining(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _send_setups(self, int64_t position, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, position=int64_t, window=int64_t)
    cdef int32_t on_status_message(self, StatusMessage sm, int64_t now_ns) except -1 nogil
    @cython.locals(lowest=int64_t, index=int32_t, consumed=int64_t)
    cdef int64_t consumed_position(self, int64_t position) except? -1 nogil
    @cython.locals(last=int32_t)
    cdef int32_t remove(self, int32_t index) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _index_of(self, int32_t stream_id) except -1 nogil
    @cython.locals(lowest=int64_t, index=int32_t)
    cdef int32_t _update_limit(self) except -1 nogil
