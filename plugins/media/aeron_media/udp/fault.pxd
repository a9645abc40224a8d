cimport cython
from libc.stdint cimport int32_t

from aeron_core._native.address cimport SocketAddress
from aeron_core._native.cell cimport AtomicLong


@cython.final
cdef class FaultSlot:
    cdef AtomicLong _is_full        # set by the agent, cleared by the conductor
    cdef int32_t _code              # a negative wire.FRAME_..., or an errno
    cdef SocketAddress _source

    cdef int32_t keep(self, int32_t code, SocketAddress source) noexcept nogil
