cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport MemoryBudget
from aeron_media._native.source_counts cimport SourceCounts
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.pointers cimport PointerList, PointerMap
from aeron_core._native.readiness cimport ReadinessSet
from aeron_core._native.connections cimport ConnectionListener
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint
from aeron_media.lumberjack._native cimport bounds, end_reasons, faults, phases
from aeron_media.lumberjack.reader.reader_connection cimport ReaderConnection
from aeron_media.lumberjack.reader.reader_counters cimport ReaderCounters
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.connections.image_feed cimport ImageFeed


cdef bint _is_over_limit(int32_t reason) noexcept nogil


@cython.final
cdef class LumberjackReceiveEndpoint(ReceiveChannelEndpoint):
    cdef ConnectionListener _listener
    cdef ReaderCounters _counters
    cdef MemoryBudget _budget
    cdef AtomicCounter _bytes_received
    cdef FaultSlot _ends
    cdef object _tls                    # None for plain connections
    cdef list _slots                    # owns the objects that the pointers refer to
    cdef int32_t _max_connections
    cdef SourceCounts _sources
    cdef int64_t _eviction_timeout_ns
    cdef int64_t _next_search_ns        # after a search for an idle connection
    cdef PointerList _unused
    cdef PointerList _active
    cdef PointerMap _sessions           # session id -> ReaderConnection
    cdef ReadinessSet _readiness
    cdef SocketAddress _peer
    cdef int32_t _next_session_id
    cdef bint _is_listener_watched
    cdef int32_t _next                  # index of the next connection to serve; not 0 after an exception
    cdef int64_t _now_ns

    @cython.locals(accepted=int32_t)
    cdef int32_t _accept(self, int64_t now_ns) except -1 nogil
    @cython.locals(
        best=int32_t, best_ns=int64_t, is_best_new=cython.bint, index=int32_t, idle_ns=int64_t, is_new=cython.bint
    )
    cdef bint _evict(self, int64_t now_ns) except -1 nogil
    cdef int32_t _end_idle(self, ReaderConnection slot, int64_t now_ns) except -1 nogil
    cdef int32_t _refuse(self, ReaderConnection slot, int32_t reason, int64_t limit) except -1 nogil
    cdef int32_t _report_listener(self) except -1 nogil
    @cython.locals(descriptor=int32_t)
    cdef int32_t _begin(self, ReaderConnection slot, int64_t now_ns) except -1 nogil
    cdef int32_t _release(self, ReaderConnection slot) except -1 nogil
    @cython.locals(reason=int32_t)
    cdef int32_t _count_end(self, ReaderConnection slot) except -1 nogil
