cimport cython
from libc.stdint cimport int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.peer_connections cimport PeerConnections
from aeron_media.sp.pair_counters cimport PairCounters
from aeron_media.sp.pair_socket cimport PairSocket
from aeron_media.connections.image_feed cimport ImageFeed


@cython.final
cdef class PairReceiveEndpoint(ReceiveChannelEndpoint):
    cdef object _lease
    cdef PairSocket _socket
    cdef PeerConnections _connections       # `connections` of `_socket`
    cdef PairCounters _counters
    cdef Tallies _tallies
    cdef AtomicCounter _bytes_received
    cdef int64_t _number            # identifies its feeds; see `PeerConnections.attach`
    cdef int64_t _now_ns
