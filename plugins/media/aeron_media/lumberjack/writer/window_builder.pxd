cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_media._native.byte_queue cimport MemoryBudget
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.lumberjack._native cimport bounds, faults, sentinels
from aeron_media.lumberjack.codec.window_encoder cimport WindowEncoder
from aeron_media.lumberjack.writer.message_encoder cimport MessageEncoder
from aeron_media.connections.remote_host cimport RemoteHost
from aeron_media.lumberjack.writer.window_ledger cimport WindowLedger
from aeron_media.lumberjack.writer.writer_counters cimport WriterCounters
from aeron_media.fault_slot cimport FaultSlot


@cython.final
cdef class WindowBuilder:
    cdef int64_t end                    # position in the log at which the last window ends
    cdef bint holds_memory              # the encoder may hold memory of the budget
    cdef int64_t next_ns                # no window is built before this time, because memory was scarce
    cdef WriterCounters _counters
    cdef FaultSlot _ends
    cdef MemoryBudget _budget
    cdef WindowEncoder _encoder
    cdef MessageEncoder _messages
    cdef RemoteHost _host
    cdef WindowLedger _ledger
    cdef int64_t _window
    cdef int64_t _alone_end             # see the constructor
    cdef int64_t _attempts_left
    cdef int64_t _failures
    cdef int64_t _window_limit          # maximum events of the next window; reduced while memory is scarce

    @cython.locals(begin=int64_t, limit=int64_t, position=int64_t, step=int64_t, count=int64_t)
    cdef int64_t build(self, LogBuffer log, int64_t now_ns) except -1 nogil
    @cython.locals(is_too_long=bint)
    cdef int32_t _shrink(self, int64_t count, int64_t end, int64_t now_ns) except -1 nogil
    cdef bint _is_hopeless(self, int64_t end) noexcept nogil
    cdef int32_t release_memory(self) except -1 nogil
