cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.pointers cimport LongMap


@cython.final
cdef class SourceCounts:
    cdef LongMap _counts             # connections by source
    cdef readonly int32_t limit      # connections that one source may have, 0 for no limit

    # Return the number of connections from the source of an address.
    cpdef int64_t count(self, SocketAddress peer) noexcept nogil
    # Return whether another connection from the source of an address is within the limit.
    cpdef bint has_space(self, SocketAddress peer) noexcept nogil
    # Count a connection; return 0.
    cpdef int32_t add(self, SocketAddress peer) except -1 nogil
    # Subtract a connection that has ended; return 0.
    cpdef int32_t remove(self, SocketAddress peer) except -1 nogil
