cimport cython
from cpython.ref cimport PyObject

from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.lumberjack.end_slot cimport EndSlot
from aeron_media.lumberjack.writer_stream cimport WriterStream


@cython.final
cdef class LumberjackSendEndpoint(SendChannelEndpoint):
    cdef EndSlot _ends
    cdef object _writer
    cdef object _hosts
    cdef object _new_streams
    cdef object _tls                # of each host, none for plain connections
