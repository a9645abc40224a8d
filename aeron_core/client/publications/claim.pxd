cimport cython
from libc.stdint cimport int64_t

from aeron_core.logbuffer.claim cimport BufferClaim


@cython.final
cdef class Claim:
    cdef int64_t _position            # after the message, or a negative result
    cdef object _publication
    cdef BufferClaim _claim           # None once committed or aborted
