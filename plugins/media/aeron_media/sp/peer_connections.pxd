cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_media._native.byte_queue cimport MemoryBudget
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.pointers cimport PointerList, PointerMap
from aeron_core._native.readiness cimport ReadinessSet
from aeron_media._native.source_counts cimport SourceCounts
from aeron_media._native.spin_lock cimport SpinLock
from aeron_core._native.connections cimport ByteConnection, ConnectionListener
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_media.sp._native cimport bounds, phases, reasons, tallies
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.dialer cimport Dialer
from aeron_media.sp.peer cimport Peer
from aeron_media.sp.peer_slots cimport PeerSlots
from aeron_media.sp.message_router cimport MessageRouter
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.connections.remote_host cimport RemoteHost


@cython.final
cdef class PeerConnections:
    cdef Tallies _tallies
    cdef MemoryBudget _budget
    cdef FaultSlot _faults              # faults of connections
    cdef bint _is_polyamorous
    cdef PeerSlots _slots
    cdef PointerList _unused            # list of `_slots`, like the next three
    cdef PointerList _active
    cdef PointerList _up                # changed under both locks
    cdef PointerMap _sessions
    cdef MessageRouter _router
    cdef ConnectionListener _listener   # None if the socket connects
    cdef bint _listens
    cdef bint _is_local                 # the connections are Unix sockets
    cdef SourceCounts _sources          # of accepted connections
    cdef RemoteHost _host               # where the socket connects to, or listens
    cdef Dialer _dialer
    cdef PyObject *_dialed              # the Peer of the connecting socket, until it is lost
    cdef ByteConnection _surplus        # accepts a connection beyond the limit in order to close it
    cdef SocketAddress _address
    cdef SpinLock _lock
    cdef AtomicLong _receivers          # whether the receiver, not the sender, calls `work`
    cdef ReadinessSet _readiness
    cdef bint _is_listener_watched
    cdef list _since_ms                 # by slot: since when its peer has not answered
    cdef int64_t _feeds_number          # number of the endpoint that owns the feeds
    cdef int32_t _next                  # index of the peer with which the loop continues after an exception

    cdef int64_t work(self, int64_t now_ns) except -1 nogil
    cdef int64_t work_without_receiver(self, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t, index=int32_t)
    cdef int64_t _work(self, int64_t now_ns) except -1 nogil
    cdef int32_t _accept(self, int64_t now_ns) except -1 nogil
    cdef int32_t _turn_away(
        self, ByteConnection connection, int32_t reason, int64_t limit, SocketAddress address
    ) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _evict(self, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t _evict_silent(self, int64_t now_ns) except -1 nogil
    cdef int32_t _report_listener(self) except -1 nogil
    cdef int32_t _dial(self, int64_t now_ns) except -1 nogil
    @cython.locals(descriptor=int32_t)
    cdef int32_t _watch(self, Peer peer) except -1 nogil
    cdef bint _follow(self, Peer peer, int64_t now_ns) except -1 nogil
    @cython.locals(unsent=int64_t)
    cdef int32_t _leave(self, Peer peer) except -1 nogil
    @cython.locals(reason=int32_t)
    cdef int32_t _count_end(self, Peer peer) except -1 nogil
    cdef int32_t on_status_message(self, StatusMessage sm, int64_t number, int64_t now_ns) except -1 nogil
    cdef int32_t reject(self, int32_t session_id) except -1 nogil
