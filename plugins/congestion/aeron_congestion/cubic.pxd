cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.counter cimport AtomicCounter
from aeron_core.spi.congestion_control cimport CongestionControl, RebuildState

cdef double _C
cdef double _B
cdef int32_t _INITIAL_WINDOW
cdef int64_t _RTT_TIMEOUT_MULTIPLE
cdef double _NS_OF_SECOND
cdef int64_t _LONGEST_RTT_NS
cdef int64_t _LONGEST_RTT_TIMEOUT_NS


cdef class CubicCongestionControl(CongestionControl):
    cdef bint _measures_rtt
    cdef bint _is_tcp_mode
    cdef int32_t _mtu
    cdef int32_t _max_window_length       # bytes
    cdef int32_t _initial_window_length   # bytes
    cdef int32_t _max_window              # datagrams
    cdef int32_t _window                  # datagrams
    cdef int32_t _window_at_loss          # datagrams
    cdef double _time_to_recover_s        # from the last loss until the window has its former size
    cdef int64_t _time_of_loss_ns
    cdef int64_t _time_of_update_ns
    cdef int64_t _initial_rtt_ns
    cdef int64_t _rtt_ns                  # last measured, at first the setting
    cdef int64_t _rtt_timeout_ns          # from a measurement to the next one
    cdef int64_t _rtt_deadline_ns
    cdef AtomicCounter _rtt_counter
    cdef AtomicCounter _window_counter

    cdef int _shrink(self, int64_t now_ns) except -1 nogil
    @cython.locals(since_loss_s=double, to_recovery_s=double, window=double, round_trips=double)
    cdef int _grow(self, int64_t now_ns) except -1 nogil
