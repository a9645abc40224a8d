from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher, SendStream


cdef class RecordingSendStream(SendStream):
    cdef readonly list calls
    cdef public object failure      # exception to raise at each call, or None
    cdef int32_t _record(self, kind, frame, source, now_ns) except -1


cdef class RecordingDispatcher(ReceiveDispatcher):
    cdef readonly list calls
    cdef public object failure      # exception to raise at each call, or None
    cdef int32_t _record(self, kind, frame, source, now_ns, data) except -1
