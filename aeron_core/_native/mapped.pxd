from libc.stdint cimport int64_t
from aeron_core._native.buffer cimport AtomicBuffer

cdef class MappedRegion:
    cdef void *_address
    cdef int64_t _length
