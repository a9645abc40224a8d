cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from aeron_core._native cimport frames, positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher
from aeron_media.connections.feed_streams cimport FeedStreams


@cython.final
cdef class ImageFeed:
    cdef readonly int32_t session_id
    cdef readonly int64_t position            # where the next message begins, unless padding precedes it
    cdef readonly bint is_broken              # all images are gone
    cdef readonly int32_t max_message_length
    cdef AtomicBuffer _packet                 # frames to be flushed, up to `_packet_length`
    cdef int64_t _capacity
    cdef int64_t _packet_length
    cdef int64_t _packet_position             # where the next flush begins
    cdef int32_t _term_length
    cdef int32_t _bits
    cdef int32_t _max_payload_length
    cdef int32_t _initial_term_id
    cdef FeedStreams _streams
    cdef AtomicBuffer _stream_ids             # `ids` of `_streams`
    cdef AtomicBuffer _behind                 # saved bytes that follow a message in the buffer of a caller
    cdef SocketAddress _source
    cdef ReceiveChannelEndpoint _endpoint
    cdef ReceiveDispatcher _dispatcher
    cdef int64_t _time_of_last_send_ns

    cdef int32_t begin(self, int32_t session_id, SocketAddress source, int64_t now_ns) except -1 nogil
    cdef int32_t work(self, int64_t now_ns) except -1 nogil
    cdef int32_t on_status_message(self, StatusMessage sm, int64_t now_ns) except -1 nogil
    cdef bint has_begun(self) noexcept nogil
    cdef bint has_space(self, int32_t length) except -1 nogil
    @cython.locals(framed=int64_t, left=int64_t)
    cdef int64_t _required(self, int32_t length) except -1 nogil
    cdef inline int64_t _framed_length(self, int32_t length) noexcept nogil
    cdef int32_t offer(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, int64_t reserved_value, int64_t now_ns
    ) except -1 nogil
    cdef int32_t offer_in_place(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, int64_t reserved_value, int64_t now_ns
    ) except -1 nogil
    @cython.locals(flags=uint8_t, step=int32_t)
    cdef int32_t _append_fragments(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, int64_t reserved_value, int64_t now_ns,
        bint is_in_place
    ) except -1 nogil
    @cython.locals(frame_length=int32_t, aligned_length=int64_t, end=int64_t)
    cdef int32_t _append_in_place(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, uint8_t flags, int64_t reserved_value,
        int64_t now_ns
    ) except -1 nogil
    @cython.locals(frame_length=int32_t, aligned_length=int64_t, at=int64_t)
    cdef int32_t _append(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, uint8_t flags, int64_t reserved_value,
        int64_t now_ns
    ) except -1 nogil
    @cython.locals(left=int64_t)
    cdef int32_t _pad_unless_fitting(self, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _pad(self, int64_t length, int64_t now_ns) except -1 nogil
    @cython.locals(term_offset=int32_t, term_id=int32_t)
    cdef int32_t _put_header(
        self, AtomicBuffer buffer, int64_t offset, int32_t frame_length, uint8_t flags, uint16_t frame_type,
        int64_t reserved_value
    ) except -1 nogil
    @cython.locals(length=int64_t)
    cdef int64_t flush(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t, used=int32_t)
    cdef int32_t _pass_on(self, AtomicBuffer buffer, int64_t offset, int64_t length, int64_t now_ns) except -1 nogil
    @cython.locals(end=int64_t)
    cdef int32_t _readdress(self, AtomicBuffer buffer, int64_t offset, int64_t length, int32_t stream_id) except -1 nogil
    @cython.locals(consumed=int64_t)
    cdef int64_t consumed_position(self) except? -1 nogil
    cdef int32_t end(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _send_heartbeats(self, uint8_t flags, int64_t now_ns) except -1 nogil
