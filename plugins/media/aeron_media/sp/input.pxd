cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport connections
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_media._native.byte_queue cimport ByteQueue
from aeron_core._native.connections cimport ByteConnection
from aeron_media.sp._native cimport bounds, reasons, tallies, wire
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.connections.image_feed cimport ImageFeed


@cython.final
cdef class Input:
    cdef readonly ByteQueue queue
    cdef readonly ImageFeed feed                 # None without subscribers
    cdef readonly bint is_fed
    cdef readonly bint has_received            # a message has been received
    cdef bint is_watched                    # epoll watches the connection and sets `is_readable`
    cdef bint is_readable
    cdef bint is_blocked                    # a complete message waits for space in images
    cdef int64_t result                     # result of the last receive call: CONNECTION_WAITS, or how the connection ended
    cdef int32_t fault                      # fault of the peer, or NO_REASON
    cdef int64_t fault_value
    cdef int64_t fault_limit
    cdef ByteConnection _connection
    cdef SocketAddress _address
    cdef int32_t _session_id
    cdef Tallies _tallies
    cdef int64_t _prefix_length
    cdef bint _has_type
    cdef int64_t _hops_length
    cdef int64_t _max_payload_length
    cdef int64_t _ttl
    cdef bint _accepts_zero_hops
    cdef int64_t _message_timeout_ns
    cdef int64_t _wanted                    # length of the incomplete message with its prefix, 0 if not known
    cdef int64_t _read_length               # length of the next receive call
    cdef int64_t _last_received_ns           # time of the last received bytes, or of a check without a partial message
    cdef int64_t _starved_ns                # time since which there is no memory, 0 if there is memory

    cdef int32_t begin(self, int32_t session_id, int64_t now_ns) except -1 nogil
    cdef int32_t begin_feed(self, int64_t now_ns) except -1 nogil
    cdef int32_t work(self, int64_t now_ns) except -1 nogil
    cdef int32_t _renew_feed(self, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t)
    cdef int64_t receive(self, int64_t length) except -1 nogil
    @cython.locals(total=int64_t, length=int64_t, received=int64_t)
    cdef int64_t read(self, int64_t now_ns) except -1 nogil
    @cython.locals(wanted=int64_t, length=int64_t)
    cdef int64_t _reserve(self) except -1 nogil
    @cython.locals(received=int64_t)
    cdef int64_t _read_ahead(self) except -1 nogil
    cdef int32_t _on_no_bytes(self, int64_t result) noexcept nogil
    cdef int32_t _starve(self, int64_t now_ns) except -1 nogil
    cdef bint is_overdue(self, int64_t now_ns) noexcept nogil
    @cython.locals(length=int64_t)
    cdef bint parse(self, int64_t now_ns) except -1 nogil
    @cython.locals(at=int64_t, length=int64_t)
    cdef bint _is_in_order(self) except -1 nogil
    cdef bint _refuse(self, int32_t fault, int64_t value, int64_t limit) noexcept nogil
    @cython.locals(hops=int64_t)
    cdef bint _deliver(self, int64_t at, int64_t length, int64_t now_ns) except -1 nogil
    cdef bint _discard(self, int32_t tally) noexcept nogil
    @cython.locals(size=int64_t)
    cdef int64_t clear(self) except -1 nogil
    @cython.locals(total=int64_t, received=int64_t)
    cdef int64_t discard_unread(self) except -1 nogil
