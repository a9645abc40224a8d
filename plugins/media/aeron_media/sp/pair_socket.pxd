cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport peers
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_media._native.byte_queue cimport MemoryBudget
from aeron_core._native.cell cimport AtomicLong
from aeron_core._native.peers cimport PeerCounter
from aeron_core._native.pointers cimport PointerList, PointerMap
from aeron_core._native.readiness cimport ReadinessSet
from aeron_media._native.spin_lock cimport SpinLock
from aeron_core._native.connections cimport ByteConnection, ConnectionListener
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_media.sp._native cimport phases, tallies
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.dialer cimport Dialer
from aeron_media.sp.pair_publication cimport PairPublication
from aeron_media.sp.peer cimport Peer
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.connections.log_message cimport LogMessage


@cython.final
cdef class PairSocket:
    cdef readonly object params
    cdef readonly Tallies tallies
    cdef readonly list peers            # keeps the peers alive
    cdef MemoryBudget _budget
    cdef FaultSlot _faults              # faults of connections
    cdef FaultSlot _losses              # faults of messages that are not sent
    cdef bint _is_polyamorous
    cdef ConnectionListener _listener       # None if the socket connects
    cdef bint _listens
    cdef bint _is_local                 # the connections are Unix sockets
    cdef SocketAddress _remote
    cdef Dialer _dialer
    cdef PyObject *_dialed              # the Peer of the connecting socket, until it is lost
    cdef PyObject *_first               # any Peer
    cdef PointerList _unused
    cdef PointerList _active
    cdef PointerList _up                # admitted peers, oldest first
    cdef PointerMap _sessions           # session id -> Peer
    cdef int32_t _next_session_id
    cdef ByteConnection _surplus            # accepts a connection beyond the limit in order to close it
    cdef SocketAddress _address
    cdef LogMessage _message
    cdef SpinLock _keeping
    cdef SpinLock _sending
    cdef AtomicLong _receivers          # whether the receiver, not the sender, keeps connections
    cdef AtomicLong _has_peer
    cdef AtomicLong _has_publisher
    cdef ReadinessSet _readiness
    cdef bint _is_listener_watched
    cdef int64_t _feeds_number          # number of the endpoint that owns the feeds
    cdef int64_t _rooms_number          # number of the endpoint that owns the counters
    cdef int32_t _next                  # where the loop continues after an exception

    @cython.locals(unsent=int64_t)
    cdef int32_t _finish(self, Peer peer) except -1
    cdef int64_t keep(self, int64_t now_ns) except -1 nogil
    cdef int64_t keep_without_receiver(self, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t, index=int32_t)
    cdef int64_t _keep(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _flush_queues(self, int64_t now_ns) except -1 nogil
    cdef int32_t _accept(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _evict(self, int64_t now_ns) except -1 nogil
    cdef int32_t _report_listener(self) except -1 nogil
    cdef int32_t _dial(self, int64_t now_ns) except -1 nogil
    cdef int32_t _begin(self, Peer peer, bint is_dialed, int64_t now_ns) except -1 nogil
    @cython.locals(descriptor=int32_t)
    cdef int32_t _watch(self, Peer peer) except -1 nogil
    cdef bint _follow(self, Peer peer, int64_t now_ns) except -1 nogil
    cdef int32_t _admit(self, Peer peer, int64_t now_ns) except -1 nogil
    cdef int32_t _introduce(self, Peer peer) except -1 nogil
    @cython.locals(unsent=int64_t)
    cdef int32_t _leave(self, Peer peer, int64_t now_ns) except -1 nogil
    cdef int32_t _count_peers(self) except -1 nogil
    cdef int32_t _release(self, Peer peer) except -1 nogil
    @cython.locals(reason=int32_t)
    cdef int32_t _count_end(self, Peer peer) except -1 nogil
    cdef int32_t on_status_message(self, StatusMessage sm, int64_t number, int64_t now_ns) except -1 nogil
    cdef int32_t reject(self, int32_t session_id) except -1 nogil
    cdef bint has_peer(self) noexcept nogil
    cdef int64_t advance(self, PairPublication publication, LogBuffer log, int64_t position, int64_t now_ns) except -1 nogil
    cdef int64_t _send_to_partner(self, PairPublication publication, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int64_t _distribute(self, LogBuffer log, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _flush(self, Peer peer, int64_t now_ns) except -1 nogil
    @cython.locals(reason=int32_t)
    cdef int32_t _put(self, LogBuffer log) except -1 nogil
    cdef int32_t _show_room(self, Peer peer) except -1 nogil
    cdef int64_t _room(self, Peer peer) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int32_t forget(self, PairPublication publication) except -1 nogil
