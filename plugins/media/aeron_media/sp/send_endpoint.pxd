cimport cython
from cpython.ref cimport PyObject

from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.pair_counters cimport PairCounters
from aeron_media.sp.pair_socket cimport PairSocket
from aeron_media.sp.pair_publication cimport PairPublication


@cython.final
cdef class PairSendEndpoint(SendChannelEndpoint):
    cdef object _lease
    cdef object _number             # identifies its counters; see `PairSocket.attach_publisher`
    cdef PairSocket _socket
    cdef PairCounters _counters
    cdef Tallies _tallies
