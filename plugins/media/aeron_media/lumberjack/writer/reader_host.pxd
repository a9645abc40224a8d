cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.cell cimport AtomicLong


@cython.final
cdef class ReaderHost:
    cdef readonly str name
    cdef readonly SocketAddress address   # the sender's
    cdef SocketAddress _known             # the conductor's: the last address that it set
    cdef SocketAddress _found             # passed from the conductor to the sender
    cdef AtomicLong _has_found            # set by the conductor, cleared by the sender
    cdef AtomicLong _is_requested         # set by the sender, cleared by the conductor

    cpdef int32_t request_address(self) except -1 nogil
    cpdef bint refresh(self) except -1 nogil
