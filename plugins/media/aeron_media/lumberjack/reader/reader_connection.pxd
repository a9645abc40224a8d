cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native cimport connections
from aeron_core._native cimport wire as aeron_wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_media._native.byte_queue cimport ByteQueue, MemoryBudget
from aeron_core._native.connections cimport ByteConnection
from aeron_media.lumberjack._native cimport bounds, end_reasons, faults, phases, wire
from aeron_media.lumberjack.ack_queue cimport AckQueue
from aeron_media.lumberjack.reader.ack_output cimport AckOutput
from aeron_media.lumberjack.codec.event_sink cimport EventSink
from aeron_media.lumberjack.codec.frame_parser cimport FrameParser
from aeron_media.lumberjack.reader.reader_counters cimport ReaderCounters
from aeron_media.lumberjack.reader.received_windows cimport ReceivedWindows
from aeron_media.connections.image_feed cimport ImageFeed


@cython.final
cdef class ReaderConnection(EventSink):
    cdef readonly ByteConnection connection
    cdef readonly ImageFeed feed
    cdef readonly SocketAddress peer
    cdef readonly int32_t session_id
    cdef readonly int32_t phase
    cdef readonly int32_t end_reason          # `faults` or `end_reasons`, 0 if the peer closed or the socket failed
    cdef readonly int64_t end_value
    cdef readonly int64_t end_limit
    cdef readonly int64_t windows             # counts of this connection, from here to `acknowledged`
    cdef readonly int64_t events
    cdef readonly int64_t bytes_received
    cdef readonly int64_t bytes_inflated
    cdef readonly int64_t acks
    cdef readonly int64_t keep_alives
    cdef readonly int64_t acknowledged        # events that are acknowledged
    cdef bint is_watched                      # epoll watches the socket and sets `is_readable`
    cdef bint is_readable
    cdef ReaderCounters _counters
    cdef bint _is_acked_when_received
    cdef bint _ack_partial
    cdef int64_t _keep_alive_ns
    cdef bint _keeps_v1_alive
    cdef int64_t _window_timeout_ns
    cdef int64_t _idle_timeout_ns
    cdef int64_t _write_timeout_ns
    cdef MemoryBudget _budget
    cdef ByteQueue _input                     # bytes read and not yet parsed
    cdef FrameParser _parser
    cdef ReceivedWindows _windows
    cdef AckQueue _acks                       # that of `_windows`
    cdef AckOutput _output
    cdef int64_t _windows_in_turn
    cdef bint _has_window_waiting             # a window of this turn waits for the next one
    cdef int64_t _events                      # events not yet added to the counters
    cdef int64_t _lingered_length
    cdef int64_t _now_ns
    cdef int64_t _progress_ns                 # time of the last event or window, or of back pressure by this side
    cdef int64_t _last_event_ns               # time of the last event, or of back pressure by this side
    cdef int64_t _read_length                 # length of the next receive call, unless a partial frame is longer
    cdef int64_t _last_ack_ns                 # time of the last acknowledgement put into the output
    cdef int64_t _phase_ns

    cdef int32_t begin(self, int32_t session_id, int64_t now_ns) except -1 nogil
    @cython.locals(received=int64_t)
    cdef int64_t work(self, int64_t now_ns) except -1 nogil
    cdef int64_t lag(self) noexcept nogil
    @cython.locals(total=int64_t, space=int64_t, received=int64_t)
    cdef int64_t _read(self, int64_t now_ns) except -1 nogil
    @cython.locals(wanted=int64_t)
    cdef int32_t _on_no_memory(self, int64_t space, int64_t now_ns) except -1 nogil
    cdef int32_t _on_no_bytes(self, int64_t result, int64_t now_ns) except -1 nogil
    @cython.locals(used=int64_t)
    cdef bint _parse(self, int64_t now_ns) except -1 nogil
    cdef int32_t _count(self) except -1 nogil
    @cython.locals(consumed=int64_t)
    cdef int32_t _acknowledge(self, int64_t now_ns) except -1 nogil
    cdef bint _may_ack_part(self, int64_t now_ns, int64_t consumed) except -1 nogil
    cdef bint _is_keep_alive_due(self, int64_t now_ns) except -1 nogil
    cdef int32_t _check_deadlines(self, int64_t now_ns) except -1 nogil
    cdef bint _is_peer_waiting(self) noexcept nogil
    cdef int64_t idle_ns(self, int64_t now_ns) noexcept nogil
    @cython.locals(silence_ns=int64_t)
    cdef int32_t _check_silence(self, int64_t now_ns) except -1 nogil
    cdef bint _is_unfinished(self) except -1 nogil
    cdef int32_t _enter(self, int32_t phase, int64_t now_ns) except -1 nogil
    cdef int32_t _end(self, int32_t reason, int64_t value, int64_t limit, int64_t now_ns) except -1 nogil
    cdef int32_t abandon(self, int32_t reason, int64_t now_ns) except -1 nogil
    @cython.locals(total=int64_t, received=int64_t)
    cdef int32_t _linger(self, int64_t now_ns) except -1 nogil
    cdef int32_t _free(self) except -1 nogil
