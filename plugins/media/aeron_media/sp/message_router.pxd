cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport peers
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.peers cimport PeerCounter
from aeron_core._native.pointers cimport PointerList, PointerMap
from aeron_media._native.spin_lock cimport SpinLock
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.sp._native cimport bounds, reasons, tallies
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.pair_publication cimport PairPublication
from aeron_media.sp.peer cimport Peer
from aeron_media.sp.peer_slots cimport PeerSlots
from aeron_media.connections.log_message cimport LogMessage


@cython.final
cdef class MessageRouter:
    cdef bint _is_polyamorous
    cdef Tallies _tallies
    cdef PeerSlots _slots
    cdef PointerList _up                # admitted peers: `up` of `_slots`
    cdef PointerMap _sessions           # session id -> Peer of `_up`; `PeerSlots.sessions` changes under another lock
    cdef PyObject *_first               # the Peer of the first slot, connected or not, for faults that belong to no peer
    cdef LogMessage _message
    cdef SpinLock _lock
    cdef AtomicLong _has_peer
    cdef AtomicLong _has_publisher
    cdef int64_t _publisher_number      # number of the endpoint that owns the counters

    @cython.locals(unsent=int64_t)
    cdef int64_t remove(self, Peer peer) except -1 nogil
    cdef int32_t admit(self, Peer peer, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t flush_queues(self, int64_t now_ns) except -1 nogil
    cdef int32_t _introduce(self, Peer peer) except -1 nogil
    cdef int32_t _count_peers(self) except -1 nogil
    cdef bint has_peer(self) noexcept nogil
    cdef int64_t advance(self, PairPublication publication, LogBuffer log, int64_t position, int64_t now_ns) except -1 nogil
    cdef int64_t _send_to_partner(self, PairPublication publication, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int64_t _distribute(self, LogBuffer log, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _flush(self, Peer peer, int64_t now_ns) except -1 nogil
    @cython.locals(reason=int32_t)
    cdef int32_t _put(self, LogBuffer log) except -1 nogil
    cdef int32_t _show_space(self, Peer peer) except -1 nogil
    cdef int64_t _space_of(self, Peer peer) noexcept nogil
    @cython.locals(index=int32_t)
    cdef int32_t forget(self, PairPublication publication) except -1 nogil
