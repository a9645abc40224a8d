cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.counter cimport AtomicCounter

cdef int32_t BURST
cdef int64_t BURST_INTERVAL_NS
cdef int64_t LONGEST_NS
cdef double _NS_OF_SECOND


@cython.final
cdef class OneWaySchedule:
    cdef int64_t _interval_ns      # after the burst; 0: never measure
    cdef int32_t _sent             # measurements sent, counted up to BURST
    cdef int64_t _deadline_ns      # of the next measurement

    cpdef bint is_due(self, int64_t now_ns) noexcept nogil
    cdef int64_t deadline_ns(self) noexcept nogil


@cython.final
cdef class OneWayEstimate:
    cdef AtomicCounter _latency    # of the last measurement; written by the receiver only
    cdef AtomicCounter _drift      # written by the receiver only
    cdef int32_t _count            # measurements since the last comparison
    cdef int64_t _shortest_ns      # the lowest latency since the last comparison
    cdef bint _has_first
    cdef int64_t _first_ns         # when the first eight were complete
    cdef int64_t _first_shortest_ns  # the lowest latency of the first eight

    @cython.locals(latency_ns=int64_t)
    cpdef bint on_measurement(self, int64_t sent_ns, int64_t received_ns) except -1 nogil
    @cython.locals(elapsed_s=double, grown_ns=int64_t)
    cdef int _compare(self, int64_t now_ns) except -1 nogil
