cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.atomic_long cimport AtomicLong


@cython.final
cdef class RemoteHost:
    cdef readonly str name
    cdef readonly SocketAddress address   # current address; used by the agent only
    cdef SocketAddress _known             # last address that the conductor set; used by the conductor only
    cdef SocketAddress _found             # passed from the conductor to the agent
    cdef AtomicLong _has_found            # `_found` is pending: set by the conductor, cleared by the agent
    cdef AtomicLong _is_requested         # resolution is requested: set by the agent, cleared by the conductor

    cpdef int32_t request_address(self) except -1 nogil
    cpdef bint refresh(self) except -1 nogil
