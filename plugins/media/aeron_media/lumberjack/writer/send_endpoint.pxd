cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from aeron_core._native cimport wire
from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.lumberjack._native cimport phases
from aeron_media.lumberjack.writer.writer_counters cimport WriterCounters
from aeron_media.lumberjack.writer.writer_stream cimport WriterStream
from aeron_media.fault_slot cimport FaultSlot


@cython.final
cdef class LumberjackSendEndpoint(SendChannelEndpoint):
    cdef FaultSlot _ends
    cdef object _writer
    cdef object _hosts
    cdef object _new_connections
    cdef WriterCounters _counters
    cdef list _states               # states of the streams with their numbers
    cdef int64_t _next_state
    cdef object _tls                # TLS network of each host; empty for plain connections
