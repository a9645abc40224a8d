cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.pointers cimport LongMap
from aeron_core.driver._native cimport operations
from aeron_core.driver._native.networks cimport network_of


@cython.final
cdef class NetworkCounts:
    cdef int32_t _limit
    cdef int32_t _source_limit
    cdef int32_t _count             # of all networks
    cdef LongMap _counts            # network key of a source -> its count, above 0

    cdef bint is_source_full(self, int64_t network) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef int32_t add(self, int64_t network) except -1 nogil
    @cython.locals(left=int64_t)
    cdef int32_t remove(self, int64_t network) except -1 nogil


@cython.final
cdef class AwaitedImages:
    cdef NetworkCounts _awaited     # images without data
    cdef NetworkCounts _images      # all images
    cdef AtomicLong _refused_ns     # time of the last refusal, 0 for never; read by the conductor

    @cython.locals(permit=int64_t, refusal=int64_t)
    cpdef int64_t take(self, SocketAddress source, int64_t now_ns) except? -1 nogil
    cdef int64_t _refusal(self, int64_t network) noexcept nogil
    cpdef int32_t release(self, int64_t permit) except -1 nogil
    cpdef int32_t stop_counting(self, int64_t permit) except -1 nogil
