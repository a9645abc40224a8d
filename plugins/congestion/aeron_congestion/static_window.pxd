from libc.stdint cimport int32_t

from aeron_core._native cimport wire
from aeron_core.spi.congestion_control cimport CongestionControl


cdef class StaticWindowCongestionControl(CongestionControl):
    cdef int32_t _window_length
