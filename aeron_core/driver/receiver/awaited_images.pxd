cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.pointers cimport LongMap
from aeron_core.driver._native cimport operations
from aeron_core.driver._native.networks cimport network_of


@cython.final
cdef class AwaitedImages:
    cdef int32_t _limit
    cdef int32_t _source_limit
    cdef int32_t _held              # places in use
    cdef LongMap _held_by           # network key of a source -> its places in use
    cdef AtomicLong _refused_ns     # time of the last refusal, 0 for never; read by the conductor

    @cython.locals(place=int64_t)
    cpdef int64_t take(self, SocketAddress source, int64_t now_ns) except? -1 nogil
    @cython.locals(left=int64_t)
    cpdef int32_t release(self, int64_t place) except -1 nogil
