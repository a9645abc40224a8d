cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.clock cimport Clock
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.driver.agents.one_way_latency cimport OneWayEstimate
from aeron_core.driver.agents.rate_limit cimport RateLimit
from aeron_core.driver.receiver.image_connections cimport ImageConnections
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.spi.congestion_control cimport CongestionControl


@cython.final
cdef class ImageMeasurements:
    cdef ImageConnections _connections
    cdef CongestionControl _congestion_control
    cdef Clock _clock
    cdef AtomicCounter _invalid_packets
    cdef Rttm _rttm                 # frame to send; both measurements and replies use it
    cdef RateLimit _replies       # limits the replies to the sender
    cdef bint _measures_one_way
    cdef OneWayEstimate _one_way    # None unless it measures
    cdef bint _has_measured         # at least once: a reply may come
    cdef int64_t _last_sent_ns      # when the last measurement of this receiver was sent
    cdef int64_t _answered_ns       # when the latest measurement that was answered was sent

    cdef int32_t measure(self, int64_t now_ns) except -1 nogil
    @cython.locals(request_ns=int64_t)
    cdef int32_t on_rttm(self, Rttm rttm, int64_t now_ns) except -1 nogil
    cdef int32_t _on_one_way(self, Rttm rttm) except -1 nogil
    cdef int32_t _reply(self, Rttm rttm, int64_t now_ns) except -1 nogil
