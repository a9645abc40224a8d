cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_media.sp._native cimport reasons
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.peer_connections cimport PeerConnections
from aeron_media.sp.peer cimport Peer
from aeron_media.sp.peer_slots cimport PeerSlots
from aeron_media.sp.message_router cimport MessageRouter
from aeron_media.fault_slot cimport FaultSlot


@cython.final
cdef class PairSocket:
    cdef readonly object params
    cdef readonly Tallies tallies
    cdef readonly list peers
    cdef readonly PeerConnections connections
    cdef readonly MessageRouter router
    cdef FaultSlot _faults              # faults of connections
    cdef FaultSlot _losses              # faults of messages that are not sent

    @cython.locals(unsent=int64_t)
    cdef int32_t _finish(self, Peer peer) except -1
