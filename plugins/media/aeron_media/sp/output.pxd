cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport peers, positions, connections
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_media._native.byte_queue cimport ByteQueue
from aeron_core._native.connections cimport ByteConnection
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.sp._native cimport bounds, reasons, tallies, wire
from aeron_media.sp._native.draft cimport Draft
from aeron_media.sp._native.tallies cimport Tallies
from aeron_media.sp.pair_publication cimport PairPublication
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.connections.log_message cimport LogMessage


@cython.final
cdef class Output:
    cdef int32_t session_id             # session id of the peer
    cdef bint is_broken                 # sending has failed, or a message cannot be completed
    cdef ByteConnection _connection
    cdef SocketAddress _peer
    cdef Tallies _tallies
    cdef FaultSlot _losses
    cdef bint _has_type
    cdef bint _has_hops
    cdef int64_t _head_length           # bytes of a message before its body
    cdef int64_t _max_message_length
    cdef int64_t _queue_length
    cdef ByteQueue _queue               # bytes to be sent
    cdef LogMessage _message
    cdef PyObject *_source              # PairPublication whose draft is being sent, or NULL
    cdef int64_t _draft_length          # length of the draft on the wire
    cdef int64_t _end_position          # log position after the draft
    cdef int64_t _count                 # messages of the draft
    cdef Draft _draft

    cdef int32_t begin(self, int32_t session_id) noexcept nogil
    cdef int32_t reason_against(self, LogMessage message, int32_t session_id) noexcept nogil
    @cython.locals(limit=int64_t)
    cdef int32_t pass_over(self, int32_t reason, int64_t length) except -1 nogil
    cdef int64_t draw(self, PairPublication source, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(end=int64_t, reason=int32_t)
    cdef bint _compose(self, LogBuffer log, int64_t position) except -1 nogil
    @cython.locals(
        length=int64_t, is_direct=bint, hops=int64_t, offset=int64_t, left=int64_t, frame_length=int64_t, piece=int64_t
    )
    cdef bint _put(self, LogBuffer log, LogMessage message, bint may_be_direct) except -1 nogil
    @cython.locals(sent=int64_t)
    cdef bint _send(self, LogBuffer log) except -1 nogil
    @cython.locals(sent=int64_t)
    cdef bint _send_queue(self) except -1 nogil
    cdef bint _on_no_bytes(self, int64_t result) noexcept nogil
    @cython.locals(left=int64_t, length=int64_t)
    cdef int64_t settle(self, PairPublication source, LogBuffer log, int64_t position) except -1 nogil
    cdef int32_t forget(self, PairPublication source) noexcept nogil
    @cython.locals(length=int64_t)
    cdef bint enqueue(self, LogBuffer log, LogMessage message) except -1 nogil
    @cython.locals(longest=int64_t)
    cdef int64_t free_length(self) noexcept nogil
    cdef int64_t longest(self) noexcept nogil
    cdef bint flush(self) except -1 nogil
    @cython.locals(left=int64_t)
    cdef int64_t end(self) noexcept nogil
