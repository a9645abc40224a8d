from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.datagrams cimport SendBatch
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage


cdef class SendStream:
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly LogBuffer log
    cdef public object medium_state
    cdef int32_t on_status_message(self, StatusMessage sm, SocketAddress source, int64_t now_ns) except -1 nogil
    cdef int32_t on_nak(self, Nak nak, SocketAddress source, int64_t now_ns) except -1 nogil
    cdef int32_t on_error(
        self, ErrorFrame error, int64_t destination_registration_id, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t on_rttm(self, Rttm rttm, SocketAddress source, int64_t now_ns) except -1 nogil
    cdef int32_t on_response_setup(
        self, ResponseSetup setup, SocketAddress source, int64_t now_ns
    ) except -1 nogil


cdef class ChannelEndpoint:
    pass


cdef class SendChannelEndpoint(ChannelEndpoint):
    cdef int32_t send(self, SendStream stream, SendBatch batch) except -1 nogil
    cdef int32_t poll(self, int64_t now_ns) except -1 nogil
    cdef int64_t advance(self, SendStream stream, int64_t position, int64_t now_ns) except -1 nogil
    cdef bint has_peer(self, SendStream stream) except -1 nogil
    cdef int32_t add_stream(self, SendStream stream) except -1 nogil
    cdef int32_t remove_stream(self, SendStream stream) except -1 nogil
    cdef int64_t descriptor(self) except? -1 nogil
    # Reserved slots for methods of later versions: a plugin compiled against this table keeps working.
    cdef int64_t _reserved_1(self) except? -1 nogil
    cdef int64_t _reserved_2(self) except? -1 nogil
    cdef int64_t _reserved_3(self) except? -1 nogil


cdef class ReceiveDispatcher:
    cdef int32_t on_data(
        self, ReceiveChannelEndpoint endpoint, AtomicBuffer buffer, int64_t offset, int32_t length,
        SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t on_setup(
        self, ReceiveChannelEndpoint endpoint, Setup setup, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t on_rttm(
        self, ReceiveChannelEndpoint endpoint, Rttm rttm, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t wanted_streams(self, int32_t session_id, AtomicBuffer into) except -1 nogil
    cdef int64_t consumed_position(self, int32_t session_id, int32_t stream_id) except -1 nogil


cdef class ReceiveChannelEndpoint(ChannelEndpoint):
    cdef readonly int64_t receiver_id
    cdef ReceiveDispatcher _dispatcher
    cdef int32_t poll(self, int64_t now_ns) except -1 nogil
    cdef int32_t send_status_message(self, StatusMessage sm, SocketAddress control) except -1 nogil
    cdef int32_t send_nak(self, Nak nak, SocketAddress control) except -1 nogil
    cdef int32_t send_rttm(self, Rttm rttm, SocketAddress control) except -1 nogil
    cdef int32_t send_error(self, ErrorFrame error, SocketAddress control) except -1 nogil
    cdef int32_t send_response_setup(self, ResponseSetup setup, SocketAddress control) except -1 nogil
    cdef int64_t descriptor(self) except? -1 nogil
    # Reserved slots for methods of later versions: a plugin compiled against this table keeps working.
    cdef int64_t _reserved_1(self) except? -1 nogil
    cdef int64_t _reserved_2(self) except? -1 nogil
    cdef int64_t _reserved_3(self) except? -1 nogil
