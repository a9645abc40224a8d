cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport pointers, positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.park cimport Bell

from aeron_core._native.counter cimport AtomicCounter
from aeron_core.driver._native cimport operations
from aeron_core.driver.receiver.awaited_images cimport AwaitedImages
from aeron_core.driver.receiver.image_connections cimport ImageConnection, ImageConnections
from aeron_core.driver.receiver.image_measurements cimport ImageMeasurements
from aeron_core.driver.receiver.loss_recovery cimport LossRecovery
from aeron_core.driver.agents.stream_activity cimport StreamActivity
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition, SubscriberPositions
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.logbuffer.cleaner cimport clean_step
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.logbuffer.rebuilder cimport insert
from aeron_core.protocol.frames.data cimport validate_data_packet
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.congestion_control cimport CongestionControl, RebuildState
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint


cdef class PublicationImage:
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly ReceiveChannelEndpoint endpoint
    cdef readonly LogBuffer log
    cdef readonly AtomicCounter hwm_position        # written by the receiver only
    cdef readonly AtomicCounter rebuild_position    # written by the receiver only
    cdef readonly SubscriberPositions subscribers   # used by the receiver only
    cdef readonly AtomicLong is_end_of_stream       # 1 once the sender signalled the end
    cdef readonly AtomicLong time_of_last_packet_ns  # compared with the liveness timeout by the conductor
    cdef readonly AtomicLong is_draining            # 1: status messages carry EOS; written by the conductor
    cdef readonly AtomicLong awaits_data            # 1 until the first data if a permit was taken; for the conductor
    cdef AwaitedImages _awaited
    cdef int64_t _permit                            # of `_awaited` while there is no data, or NO_PERMIT
    cdef int64_t _counted_permit                    # of `_awaited` until the log is deleted, or NO_PERMIT
    cdef AtomicLong _response_session               # session of the responses, 0 for none; written by the conductor
    cdef AtomicLong _is_rejected                    # 1: data is dropped, errors are sent; written by the conductor
    cdef Bell _bell                                 # of coroutines that wait for frames
    cdef SystemCounters _counters
    cdef CongestionControl _congestion_control      # chosen by the conductor, called by the receiver only
    cdef RebuildState _rebuild                      # argument and result of the congestion control, reused
    cdef readonly LossRecovery loss                 # gaps and NAKs
    cdef readonly ImageMeasurements measurements    # RTTM
    cdef readonly ImageConnections connections      # paths on which the stream arrives
    cdef ErrorFrame _rejection                      # sent while rejected; written before the flag
    cdef StatusMessage _sm
    cdef ResponseSetup _response_setup
    cdef int64_t _last_response_session             # of `_response_session`, as last seen by the receiver
    cdef bint _is_status_message_enabled            # until a newer image of the stream takes over
    cdef readonly int32_t window_length             # of the next status message; the conductor reads it now and then
    cdef int64_t _next_sm_position                  # of the next status message
    cdef int64_t _last_sm_position                  # of the last one sent
    cdef int64_t _overrun_threshold                 # packets that end beyond it are dropped
    cdef int64_t _clean_position                    # the log is clean up to a term before this position
    cdef int64_t _sm_timeout_ns
    cdef int64_t _sm_deadline_ns                    # of the next periodic status message
    cdef bint _is_sm_due                            # due before the deadline, see `track_rebuild`
    cdef int64_t _last_lowest_position              # of the subscribers at the last call
    cdef int64_t _last_hwm_position                 # at the last call

    cdef StreamActivity activity

    cdef bint calm(self, int64_t now_ns) except -1 nogil
    cdef int32_t await_data(self, int64_t permit) noexcept nogil
    cdef int32_t _set_permit(self, int64_t permit) noexcept nogil
    cdef int32_t release_permit(self) except -1 nogil
    cdef int32_t stop_counting(self) except -1 nogil
    cdef int64_t add_subscriber(self, SubscriberPosition subscriber) except -1 nogil
    cdef int64_t consumed_position(self) except -1 nogil
    @cython.locals(packet_position=int64_t, proposed=int64_t, payload_length=int32_t)
    cdef int32_t insert_packet(
        self, ReceiveChannelEndpoint endpoint, AtomicBuffer buffer, int64_t offset, int32_t length, int32_t term_id,
        int32_t term_offset, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t _on_packet(
        self, ReceiveChannelEndpoint endpoint, SocketAddress source, int64_t now_ns
    ) except -1 nogil
    @cython.locals(bottom=int64_t, flags=uint8_t)
    cdef int32_t _on_heartbeat(
        self, ReceiveChannelEndpoint endpoint, AtomicBuffer buffer, int64_t offset, int64_t position,
        SocketAddress source, int64_t now_ns
    ) except -1 nogil
    cdef int32_t _on_end_of_stream(self, bint is_revoked) except -1 nogil
    @cython.locals(
        ceiling=int64_t, lowest=int64_t, hwm=int64_t, before=int64_t, rebuilt=int64_t, after=int64_t, window=int32_t
    )
    cdef int32_t track_rebuild(self, int64_t now_ns) except -1 nogil
    cdef int32_t _advance(self, int64_t rebuilt, int64_t after, int64_t hwm) except -1 nogil
    @cython.locals(position=int64_t)
    cdef bint may_rest(self) except -1 nogil
    @cython.locals(work=int32_t)
    cdef int32_t send_pending(self, int64_t now_ns) except -1 nogil
    @cython.locals(session=int64_t, work=int32_t)
    cdef int32_t _send_pending(self, int64_t now_ns) except -1 nogil
    @cython.locals(sent=int32_t)
    cdef int32_t _send_error_if_due(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t, sent=int32_t)
    cdef int32_t _send_status_message(self, int64_t now_ns) except -1 nogil
    cdef int32_t disable_status_messages(self) noexcept nogil
    cdef bint is_of_stream_of(self, PublicationImage image) noexcept nogil
