from libc.stdint cimport int64_t

from aeron_core._native.address cimport SocketAddress


cpdef int64_t network_of(SocketAddress source) noexcept nogil
