cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.counter cimport AtomicCounter


@cython.final
cdef class DutyCycleTracker:
    cdef AtomicCounter _longest
    cdef AtomicCounter _exceeded
    cdef int64_t _threshold_ns
    cdef int64_t _time_of_last_ns    # 0 before the first cycle

    @cython.locals(duration_ns=int64_t)
    cpdef int32_t measure_and_update(self, int64_t now_ns) except -1 nogil
