cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport connections
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.peers cimport PeerCounter
from aeron_core._native.connections cimport ByteConnection
# Must precede `wire`: otherwise Cython leaves out the functions of `wire`.
from aeron_media.sp.input cimport Input
from aeron_media.sp.output cimport Output
from aeron_media.sp._native cimport bounds, phases, reasons, wire
from aeron_media.connections.image_feed cimport ImageFeed


@cython.final
cdef class Peer:
    cdef readonly ByteConnection connection
    cdef readonly SocketAddress address
    cdef readonly Input input
    cdef readonly Output output
    cdef PeerCounter counter
    cdef readonly int32_t session_id
    cdef readonly int32_t phase
    cdef readonly bint is_dialed
    cdef readonly int32_t end_reason
    cdef readonly int64_t end_value
    cdef readonly int64_t end_limit
    cdef bint is_rejected                   # a subscriber rejected its image
    cdef bint is_among_peers                # admitted by the socket
    cdef int64_t _protocol
    cdef AtomicBuffer _greeting
    cdef int64_t _greeted_length            # bytes of this end's greeting that were sent
    cdef bint _confirms
    cdef int64_t _handshake_timeout_ns
    cdef int64_t _phase_ns                  # when the phase began

    cdef int32_t begin(self, int32_t session_id, bint is_dialed, int64_t now_ns) except -1 nogil
    cdef int32_t admit(self, int64_t now_ns) except -1 nogil
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
    cdef int64_t _read(self, int64_t now_ns) except -1 nogil
    @cython.locals(has_received=bint)
    cdef int32_t _on_end(self, int64_t now_ns) except -1 nogil
    cdef int32_t _fail_for_fault(self, int64_t now_ns) except -1 nogil
    cdef int32_t _drain(self, int64_t now_ns) except -1 nogil
    cdef bint is_stale(self, int64_t now_ns) noexcept nogil
    cdef bint is_silent(self, int64_t now_ns) noexcept nogil
    cdef int32_t evict(self, int64_t now_ns) except -1 nogil
    cdef int32_t fail(self, int32_t reason, int64_t value, int64_t limit, int64_t now_ns) except -1 nogil
    cdef int32_t refuse(self, int64_t now_ns) except -1 nogil
    cdef int32_t _finish(self, int64_t now_ns) except -1 nogil
    cdef int32_t _enter(self, int32_t phase, int64_t now_ns) except -1 nogil
    cdef int64_t lived_ns(self, int64_t now_ns) noexcept nogil
    cdef int32_t close(self) except -1 nogil
