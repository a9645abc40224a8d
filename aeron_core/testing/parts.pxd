from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t

from aeron_core._native cimport pointers
from aeron_core._native.datagrams cimport SendBatch
from aeron_core.driver.sender.datagram_run cimport DatagramRun
from aeron_core.driver.receiver.loss_detector cimport LossDetector
from aeron_core.driver.receiver.nak_delay cimport NakDelay
from aeron_core.driver.agents.polled_endpoints cimport PolledEndpoints
from aeron_core.driver.sender.publisher_limit cimport PublisherLimit
from aeron_core.driver.sender.retransmit_handler cimport Resender, RetransmitHandler
from aeron_core.spi.endpoints cimport ChannelEndpoint, ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.flow_control cimport FlowControl


cdef class RecordingResender(Resender):
    cdef readonly list calls        # (term id, term offset, length)
    cdef int32_t _record(self, term_id, term_offset, length) except -1


cdef class RetransmitProbe:
    cdef readonly RecordingResender resender
    cdef RetransmitHandler _handler
    cdef FlowControl _flow_control


cdef class LossDetectorProbe:
    cdef readonly LossDetector detector


cdef class NakDelayProbe:
    cdef NakDelay _delay


cdef class PublisherLimitProbe:
    cdef PublisherLimit _limit


cdef class DatagramRunProbe:
    cdef readonly DatagramRun run
    cdef SendBatch _batch


cdef class CountingSendEndpoint(SendChannelEndpoint):
    cdef readonly int32_t polls
    cdef public bint is_broken
    cdef int32_t _descriptor


cdef class CountingReceiveEndpoint(ReceiveChannelEndpoint):
    cdef readonly int32_t polls
    cdef public bint is_broken
    cdef int32_t _descriptor


cdef int _raise_broken() except -1 with gil


cdef class PolledEndpointsProbe:
    cdef PolledEndpoints _endpoints


cdef class QuietItem:
    cdef readonly int32_t index     # in the list, -1 outside
    cdef uint64_t[3] _tails


cdef class QuietListProbe:
    cdef readonly pointers.QuietList quiet
    cdef int32_t _add(self, QuietItem item, int64_t deadline_ns, int32_t attention, bint has_log) except -1
