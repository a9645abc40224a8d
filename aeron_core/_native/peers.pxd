# Peers of a channel: the counters that describe them to clients, and the destination peer of a message.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.counter cimport AtomicCounter

# Results of an offer to a peer, in addition to the RESULT_… of any offer in `wire`.
cpdef enum:
    RESULT_NO_PEER = -7
    RESULT_PEER_FULL = -8

# The reserved value of a message to be sent: its hop count so far, and a flag and the session if it has a
# destination peer.
cpdef enum:
    RESERVED_HOPS_MASK = 0xFF
    RESERVED_HAS_PEER = 0x100
    RESERVED_PEER_SHIFT = 32

# Types of counters that this project defines: one peer of a channel endpoint, and the number of connections that the
# endpoint or its peers refused for one reason. Their registration id is the endpoint's.
cpdef enum:
    COUNTER_TYPE_PEER = 1021
    COUNTER_TYPE_REFUSALS = 1022

# Value of a peer counter: the peer's session, a flag that it is connected, and the length in bytes of the longest
# message that it accepts now; 0 if no peer is connected.
# Key of a peer counter: the length of the text, int32, then the text: `host:port`, or the path of a Unix socket.
cpdef enum:
    PEER_SESSION_SHIFT = 32
    PEER_IS_CONNECTED = 0x80000000
    PEER_SPACE_MASK = 0x7FFFFFFF
    PEER_KEY_TEXT_OFFSET = 4
    PEER_KEY_TEXT_MAX_LENGTH = 108


cdef inline int64_t peer_value(int32_t session_id, int64_t space) noexcept nogil:
    cdef int64_t bounded = min(max(space, 0), <int64_t>PEER_SPACE_MASK)
    return <int64_t>(<uint64_t><uint32_t>session_id << PEER_SESSION_SHIFT) | <int64_t>PEER_IS_CONNECTED | bounded

cdef inline int64_t reserved_for(int32_t session_id, int64_t hops) noexcept nogil:
    return <int64_t>(<uint64_t><uint32_t>session_id << RESERVED_PEER_SHIFT) | RESERVED_HAS_PEER | (hops & RESERVED_HOPS_MASK)


@cython.final
cdef class PeerCounter:
    cdef readonly AtomicCounter counter
    cdef AtomicBuffer _metadata      # metadata buffer of all counters
    cdef int64_t _key_offset         # offset of this counter's key in `_metadata`

    cdef int32_t admit(self, int32_t session_id, int64_t space, SocketAddress address) except -1 nogil
    cdef inline int32_t show(self, int32_t session_id, int64_t space) except -1 nogil:
        cdef int64_t value = peer_value(session_id, space)
        if value != self.counter.get():
            self.counter.set_release(value)
        return 0
    cdef inline int32_t leave(self) except -1 nogil:
        self.counter.set_release(0)
        return 0
