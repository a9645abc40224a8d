cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.datagrams cimport ReceiveBatch
from aeron_core._native.pointers cimport PointerMap, pair_key
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.header cimport validate
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport SendStream
from aeron_media.udp.destinations cimport Destinations
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.udp.incoming_loss cimport IncomingLoss
from aeron_media.udp.loss cimport LossGenerator
from aeron_media.udp.response_receivers cimport ResponseReceivers


@cython.final
cdef class ReceiverFeedback:
    cdef ReceiveBatch batch                 # received control frames
    cdef bint has_nak
    cdef PointerMap _streams                # of the endpoint: (stream id, session id) -> SendStream, borrowed
    cdef FaultSlot _faults
    cdef bint _is_multi_destination
    cdef Destinations _destinations
    cdef bint _answers                      # response channel: each stream goes to the receiver that requested it
    cdef ResponseReceivers _receivers
    cdef SocketAddress _source              # source of the current packet
    cdef StatusMessage _sm                  # reused to decode frames
    cdef Nak _nak
    cdef ErrorFrame _error
    cdef Rttm _rttm
    cdef ResponseSetup _response_setup
    cdef LossGenerator _control_loss        # deliberate loss, for tests
    cdef bint _loses_control
    cdef IncomingLoss _incoming_loss        # deliberate loss, for tests
    cdef AtomicCounter _invalid_packets     # shared with the receiver: changed by atomic addition only
    cdef AtomicCounter _status_messages_received
    cdef AtomicCounter _naks_received
    cdef AtomicCounter _error_frames_received

    @cython.locals(offset=int64_t, end=int64_t, step=int32_t, segment_length=int32_t, frames=int32_t)
    cdef int32_t on_slot(self, int32_t slot, int64_t now_ns) except -1 nogil
    @cython.locals(frame_type=int32_t)
    cdef int32_t _on_packet(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _on_status_message(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _on_nak(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    @cython.locals(destination_id=int64_t)
    cdef int32_t _on_error(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _on_rare(
        self, int32_t frame_type, int64_t offset, int32_t length, int64_t now_ns
    ) except -1 nogil
    cdef bint _is_lost(self, int64_t offset, int32_t length) except -1 nogil
    cdef int32_t _refuse(self, int32_t reason) except -1 nogil
