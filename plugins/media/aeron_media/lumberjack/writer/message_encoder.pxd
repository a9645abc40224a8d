cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions
from aeron_core._native cimport wire as aeron_wire
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.connections.log_message cimport LogMessage
from aeron_media.lumberjack._native cimport faults, sentinels
from aeron_media.lumberjack.codec.window_encoder cimport WindowEncoder
from aeron_media.connections.remote_host cimport RemoteHost
from aeron_media.lumberjack.writer.writer_counters cimport WriterCounters


@cython.final
cdef class MessageEncoder:
    cdef WindowEncoder _encoder
    cdef RemoteHost _host
    cdef FaultSlot _ends
    cdef WriterCounters _counters
    cdef LogMessage _message        # the message that is being added
    cdef readonly int64_t step      # length of the message in the log

    @cython.locals(length=int64_t)
    cdef int64_t add(self, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(offset=int64_t, end=int64_t, length=int64_t, answer=int32_t)
    cdef int32_t _add_fragments(self, LogBuffer log) except -1 nogil
    cdef int64_t _outcome(self, int32_t answer) except -1 nogil
