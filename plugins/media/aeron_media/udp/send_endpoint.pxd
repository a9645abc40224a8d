cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.clock cimport Clock
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.datagrams cimport DatagramChannel, ReceiveBatch, SendBatch
from aeron_media._native cimport limits
from aeron_media._native.destination_table cimport FanOut
from aeron_core._native.pointers cimport PointerMap, pair_key
from aeron_core.spi.endpoints cimport SendChannelEndpoint, SendStream
from aeron_media.udp.destinations cimport Destinations
from aeron_media.fault_slot cimport FaultSlot
from aeron_media.udp.lossy_sender cimport LossySender
from aeron_media.udp.receiver_feedback cimport ReceiverFeedback
from aeron_media.udp.response_receivers cimport ResponseReceivers


@cython.final
cdef class UdpSendEndpoint(SendChannelEndpoint):
    cdef DatagramChannel _channel           # sends data
    cdef DatagramChannel _control           # receives frames of receivers; another socket for multicast, otherwise the same
    cdef SocketAddress _remote              # destination of data; with several destinations, the current one
    cdef bint _is_multi_destination
    cdef Destinations _destinations
    cdef FanOut _fan_out
    # Next value of `_remote`; owned by the sender while `_has_new_remote` is set, otherwise by the conductor.
    cdef SocketAddress _new_remote
    cdef AtomicLong _has_new_remote
    cdef ReceiverFeedback _feedback
    cdef ReceiveBatch _received             # `batch` of `_feedback`
    cdef PointerMap _streams                # (stream id, session id) -> SendStream, borrowed
    cdef bint _answers                      # response channel: each stream goes to the receiver that requested it
    cdef ResponseReceivers _receivers
    cdef LossySender _lossy                 # deliberate loss, for tests
    cdef bint _loses_data
    cdef Clock _clock
    cdef bint _stamps                       # writes the send time into data
    cdef int32_t _stamp_offset              # offset in the payload, or that of the reserved value
    cdef FaultSlot _faults
    cdef AtomicCounter _bytes_sent

    @cython.locals(count=int32_t, turn=int32_t, is_sent=bint)
    cdef int32_t _send_to_all(self, SendBatch batch) except -1 nogil
    @cython.locals(taken=int32_t)
    cdef int32_t _send_to_remote(self, SendBatch batch) except -1 nogil
    cdef int32_t _keep_error(self, SocketAddress peer) except -1 nogil
