cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.pointers cimport PointerList
from aeron_media.sp._native cimport bounds, tallies
from aeron_media.sp._native.tallies cimport Tallies


@cython.final
cdef class PairCounters:
    cdef dict _counters                 # keeps the counters alive
    cdef PointerList _shown             # AtomicCounter by tally index, or NULL
    cdef int64_t _next_ns               # time of the next update by `show_if_due`

    cdef int32_t show_if_due(self, Tallies source, int64_t now_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t show(self, Tallies source) except -1 nogil
