cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.clock cimport Clock
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.header cimport validate
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint, ReceiveDispatcher
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.udp.incoming_loss cimport IncomingLoss
from aeron_media.udp.loss cimport LossGenerator


cdef int64_t _TIMESTAMP_LENGTH


@cython.final
cdef class UdpReceiveEndpoint(ReceiveChannelEndpoint):
    cdef DatagramChannel _channel
    cdef bint _has_fixed_control
    cdef SocketAddress _fixed_control       # destination of all control frames, whatever the source of the data
    # Next value of `_fixed_control`; owned by the receiver while `_has_new_control` is set, otherwise by the conductor.
    cdef SocketAddress _new_control
    cdef AtomicLong _has_new_control
    cdef AtomicLong _last_received_ns          # time of the last valid packet; used with a fixed control address only
    cdef SocketAddress _source              # source of the current packet
    cdef ReceiveBatch _received             # shared by the endpoints of a receiver, used within one poll
    cdef Setup _setup                       # reused to decode frames
    cdef Rttm _rttm
    cdef AtomicBuffer _frame                # the control frame to be sent
    cdef SendBatch _outgoing                # batch whose only entry is `_frame`
    cdef bint _has_group_tag
    cdef int64_t _group_tag
    cdef LossGenerator _data_loss           # deliberate loss, for tests
    cdef LossGenerator _control_loss
    cdef bint _loses_data
    cdef bint _loses_control
    cdef IncomingLoss _incoming_loss        # deliberate loss, for tests
    cdef Clock _clock
    cdef bint _stamps_media                 # writes the kernel's receive time into data
    cdef bint _stamps_channel               # writes the time when this driver received a packet into data
    cdef int64_t _media_stamp_offset        # offset in the payload, or that of the reserved value
    cdef int64_t _channel_stamp_offset
    cdef int64_t _media_time_ns             # when the kernel received the current packet, 0 if unknown
    cdef FaultSlot _faults
    cdef AtomicCounter _bytes_received
    cdef AtomicCounter _invalid_packets     # shared with the sender: changed by atomic addition only
    cdef AtomicCounter _short_sends         # shared with the sender, like `_invalid_packets`

    @cython.locals(offset=int64_t, end=int64_t, step=int32_t, segment_length=int32_t)
    cdef int32_t _on_slot(self, int32_t slot, int64_t now_ns) except -1 nogil
    @cython.locals(frame_type=int32_t)
    cdef int32_t _on_packet(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    @cython.locals(used=int32_t)
    cdef int32_t _on_data(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    @cython.locals(now_ns=int64_t, media_ns=int64_t, length=int64_t)
    cdef int32_t _stamp(self, int64_t offset, int64_t end) except -1 nogil
    cdef bint _begins_message(self, int64_t offset) except -1 nogil
    @cython.locals(at=int64_t)
    cdef int32_t _put_time(
        self, int64_t offset, int64_t length, int64_t payload_offset, int64_t time_ns
    ) except -1 nogil
    cdef int32_t _on_setup(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _on_rttm(self, int64_t offset, int32_t length, int64_t now_ns) except -1 nogil
    cdef int32_t _send_frame(self, int32_t length, SocketAddress sender) except -1 nogil
    cdef int32_t _send_frame_to(self, int32_t length, SocketAddress control) except -1 nogil
    cdef bint _is_lost(self, int64_t offset, int32_t length) except -1 nogil
    cdef int32_t _refuse(self, int32_t reason) except -1 nogil
    cdef int32_t _keep_error(self, SocketAddress peer) except -1 nogil
