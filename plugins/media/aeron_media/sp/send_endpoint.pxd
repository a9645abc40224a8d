cimport cython
from cpython.ref cimport PyObject

from aeron_core._native cimport wire
from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.peer_connections cimport PeerConnections
from aeron_media.sp.pair_counters cimport PairCounters
from aeron_media.sp.pair_socket cimport PairSocket
from aeron_media.sp.pair_publication cimport PairPublication
from aeron_media.sp.message_router cimport MessageRouter


@cython.final
cdef class PairSendEndpoint(SendChannelEndpoint):
    cdef object _lease
    cdef object _number             # identifies its counters; see `MessageRouter.attach`
    cdef PairSocket _socket
    cdef MessageRouter _router       # `router` of `_socket`
    cdef PeerConnections _connections       # `connections` of `_socket`
    cdef PairCounters _counters
    cdef Tallies _tallies
