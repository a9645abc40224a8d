cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport streams
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.byte_queue cimport ByteQueue
from aeron_core._native.peers cimport PeerCounter
from aeron_core._native.streams cimport ByteStream
# Before `wire`: else Cython leaves out the functions of that one.
from aeron_media.sp.output cimport Output
from aeron_media.sp._native cimport phases, tallies, wire
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.streams.feed cimport Feed


@cython.final
cdef class Peer:
    cdef readonly ByteStream stream
    cdef readonly SocketAddress address
    cdef readonly Output output
    cdef PeerCounter room
    cdef readonly Feed feed                 # None while nobody subscribes
    cdef readonly bint is_fed
    cdef readonly int32_t session_id
    cdef readonly int32_t phase
    cdef readonly bint is_dialed
    cdef readonly bint has_heard            # a message has come
    cdef readonly int32_t end_reason
    cdef readonly int64_t end_value
    cdef readonly int64_t end_limit
    cdef bint is_rejected                   # by a subscriber
    cdef bint is_watched                    # `has_news` is set whenever there is something to read
    cdef bint has_news
    cdef bint is_among_peers                # the socket counts it
    cdef Tallies _tallies
    cdef int64_t _protocol
    cdef AtomicBuffer _greeting
    cdef int64_t _greeted_length            # bytes of ours that have gone
    cdef int64_t _prefix_length
    cdef bint _has_type
    cdef int64_t _hops_length
    cdef int64_t _max_payload_length
    cdef int64_t _ttl
    cdef bint _accepts_zero_hops
    cdef bint _confirms
    cdef int64_t _handshake_timeout_ns
    cdef ByteQueue _input                   # what has come and was not handed on
    cdef int64_t _wanted                    # bytes of the message that is not whole yet, 0 for not known
    cdef bint _is_blocked                   # a whole message waits for room
    cdef int64_t _message_timeout_ns
    cdef int64_t _heard_ns                  # when bytes came last, or the peer was waited for no longer
    cdef int64_t _starved_ns                # since when there is no memory, 0 for there is
    cdef int64_t _phase_ns                  # since when the phase lasts

    cdef int32_t begin(self, int32_t session_id, bint is_dialed, int64_t now_ns) except -1 nogil
    cdef int32_t admit(self, int64_t now_ns) except -1 nogil
    cdef int32_t _begin_feed(self, int64_t now_ns) except -1 nogil
    cdef bint is_confirmed(self, int64_t now_ns) noexcept nogil
    @cython.locals(received=int64_t)
    cdef int64_t work(self, int64_t now_ns) except -1 nogil
    @cython.locals(result=int32_t)
    cdef int32_t _connect(self, int64_t now_ns) except -1 nogil
    @cython.locals(sent=int64_t, result=int64_t)
    cdef int32_t _greet(self, int64_t now_ns) except -1 nogil
    @cython.locals(at=int64_t, protocol=int64_t)
    cdef int32_t _on_greeting(self, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t)
    cdef int64_t _receive(self, int64_t length) except -1 nogil
    @cython.locals(total=int64_t, length=int64_t, received=int64_t)
    cdef int64_t _read(self, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t)
    cdef int64_t _read_ahead(self, int64_t now_ns) except -1 nogil
    cdef int32_t _look_for_silence(self, int64_t now_ns) except -1 nogil
    cdef int32_t _starve(self, int64_t now_ns) except -1 nogil
    @cython.locals(has_heard=bint)
    cdef int32_t _on_nothing(self, int64_t result, int64_t now_ns) except -1 nogil
    @cython.locals(at=int64_t, length=int64_t)
    cdef bint _parse(self, int64_t now_ns) except -1 nogil
    cdef bint _refuse(self, int32_t reason, int64_t value, int64_t limit, int64_t now_ns) except -1 nogil
    @cython.locals(hops=int64_t)
    cdef bint _deliver(self, int64_t at, int64_t length, int64_t now_ns) except -1 nogil
    cdef bint _discard(self, int32_t tally) noexcept nogil
    cdef int32_t _drain(self, int64_t now_ns) except -1 nogil
    cdef bint is_stale(self, int64_t now_ns) noexcept nogil
    cdef int32_t evict(self, int64_t now_ns) except -1 nogil
    cdef int32_t fail(self, int32_t reason, int64_t value, int64_t limit, int64_t now_ns) except -1 nogil
    cdef int32_t refuse(self, int64_t now_ns) except -1 nogil
    cdef int32_t _vanish(self, int64_t now_ns) except -1 nogil
    cdef int32_t _enter(self, int32_t phase, int64_t now_ns) except -1 nogil
    cdef int64_t lived_ns(self, int64_t now_ns) noexcept nogil
    cdef int32_t close(self) except -1 nogil
    @cython.locals(total=int64_t, received=int64_t)
    cdef int32_t _skim(self) except -1 nogil
