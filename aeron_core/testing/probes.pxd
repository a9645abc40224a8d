from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.congestion_control cimport CongestionControl, RebuildState
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, SendChannelEndpoint, SendStream
from aeron_core.spi.flow_control cimport FlowControl
from aeron_core.spi.idle_strategy cimport IdleStrategy


cdef class RunBatch:
    cdef SendBatch _batch
    cdef AtomicBuffer _buffer       # what the entries of the batch point into


cdef class DatagramProbe:
    cdef readonly DatagramChannel channel
    cdef ReceiveBatch _received
    cdef int32_t _send(self, RunBatch made, SocketAddress destination) except -1


cdef class SendEndpointProbe:
    cdef readonly SendChannelEndpoint endpoint
    cdef int32_t _send(self, SendStream stream, RunBatch made) except -1
    cdef int32_t _poll(self, int64_t now_ns) except -1


cdef class ReceiveEndpointProbe:
    cdef readonly ReceiveChannelEndpoint endpoint
    cdef int32_t _poll(self, int64_t now_ns) except -1


cdef class FlowControlProbe:
    cdef readonly FlowControl strategy


cdef class CongestionControlProbe:
    cdef readonly CongestionControl strategy


cdef class IdleStrategyProbe:
    cdef readonly IdleStrategy strategy
    cdef int32_t _idle(self, int32_t work_count) except -1
