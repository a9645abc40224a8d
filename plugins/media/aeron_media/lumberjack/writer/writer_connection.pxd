cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native cimport connections
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.connections cimport ByteConnection
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_media.lumberjack._native cimport bounds, end_reasons, faults, phases, wire
from aeron_media.lumberjack.ack_queue cimport AckQueue
from aeron_media.lumberjack.codec.acks cimport AckParser
from aeron_media.lumberjack.writer.reconnect_backoff cimport ReconnectBackoff
from aeron_media.connections.remote_host cimport RemoteHost
from aeron_media.lumberjack.codec.window_encoder cimport WindowEncoder
from aeron_media.lumberjack.writer.window_builder cimport WindowBuilder
from aeron_media.lumberjack.writer.window_ledger cimport WindowLedger
from aeron_media.lumberjack.writer.writer_counters cimport WriterCounters
from aeron_media.fault_slot cimport FaultSlot


@cython.final
cdef class WriterConnection:
    cdef readonly int32_t phase
    cdef readonly int64_t number        # ordinal of the current connection, from 1
    cdef readonly int64_t windows       # counts of this connection, from here to `acknowledged`
    cdef readonly int64_t events
    cdef readonly int64_t bytes_sent
    cdef readonly int64_t acks
    cdef readonly int64_t keep_alives
    cdef readonly int64_t acknowledged  # events that are acknowledged
    cdef bint has_ended                 # set when the connection goes down, cleared when WriterStream chooses the next one
    cdef readonly RemoteHost host
    cdef ByteConnection _connection
    cdef ReconnectBackoff _backoff
    cdef WindowLedger _ledger
    cdef int64_t _owner
    cdef WriterCounters _counters
    cdef FaultSlot _ends
    cdef WindowEncoder _encoder
    cdef AckParser _acks
    cdef WindowBuilder _windows
    cdef AckQueue _unacknowledged            # sent windows: end position in the log and number of events
    cdef AtomicBuffer _byte_ends        # ring of the windows in flight: `bytes_sent` when all of the window is sent
    cdef AtomicBuffer _input            # received acknowledgements
    cdef int64_t _input_length
    cdef int64_t _trailer_length        # bytes at the end of a window without which a reader can have all its events
    cdef int32_t _pipeline
    cdef bint _is_balanced
    cdef int64_t _timeout_ns
    cdef int64_t _progress_timeout_ns
    cdef int64_t _ttl_ns
    cdef bint _has_requested_address    # resolution was requested before the connection expires
    cdef int64_t _now_ns
    cdef int64_t _phase_ns
    cdef int64_t _last_activity_ns      # time of the last bytes in or out, or of the first unacknowledged window
    cdef int64_t _progress_ns           # time of the last acknowledged event, or of the first unacknowledged window
    cdef int64_t _part                  # acknowledged events of the oldest window
    cdef bint _has_reported_stall       # lack of progress was reported
    cdef int64_t _next_read_ns

    cdef int32_t work(self, int64_t now_ns) except -1 nogil
    cdef bint may_send(self) noexcept nogil
    @cython.locals(count=int64_t, end=int64_t)
    cdef bint build_window(self, LogBuffer log) except -1 nogil
    cdef int32_t flush(self) except -1 nogil
    cdef int32_t close(self) except -1 nogil
    @cython.locals(result=int32_t)
    cdef int32_t _connect(self, int64_t now_ns) except -1 nogil
    cdef int32_t _begin_to_count(self) except -1 nogil
    cdef int32_t _on_connection_lost(self, int32_t reason, int64_t value, int64_t limit, int64_t now_ns) except -1 nogil
    cdef int32_t _disconnect(self) except -1 nogil
    cdef int32_t _forget(self) except -1 nogil
    cdef int32_t _check_deadlines(self, int64_t now_ns) except -1 nogil
    @cython.locals(quiet_ns=int64_t)
    cdef int32_t _check_progress(self, int64_t now_ns) except -1 nogil
    cdef int32_t _note_progress(self, int64_t sequence) except -1 nogil
    cdef bint _is_old(self, int64_t now_ns) noexcept nogil
    @cython.locals(received=int64_t)
    cdef int32_t _read_acks(self, int64_t now_ns) except -1 nogil
    @cython.locals(offset=int64_t, used=int64_t)
    cdef int32_t _parse_acks(self, int64_t now_ns) except -1 nogil
    @cython.locals(sequence=int64_t, count=int64_t)
    cdef int32_t _on_ack(self, int64_t now_ns) except -1 nogil
    @cython.locals(number=int64_t, end=int64_t)
    cdef bint _is_oldest_sent(self) except -1 nogil
    @cython.locals(sent=int64_t)
    cdef int32_t _send(self, int64_t now_ns) except -1 nogil
