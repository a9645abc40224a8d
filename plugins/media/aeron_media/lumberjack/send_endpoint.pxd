cimport cython
from cpython.ref cimport PyObject

from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.lumberjack.end_slot cimport EndSlot
from aeron_media.lumberjack.writer_connection cimport WriterConnection


@cython.final
cdef class LumberjackSendEndpoint(SendChannelEndpoint):
    cdef EndSlot _ends
    cdef object _writer
    cdef object _new_stream
    cdef object _tls                # None for plain connections
