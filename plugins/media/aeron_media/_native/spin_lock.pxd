cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class SpinLock:
    cdef int64_t _is_taken

    # Take the lock if it is free; return whether it was.
    cpdef bint try_take(self) noexcept nogil
    # Wait for the lock and take it.
    cpdef int32_t take(self) noexcept nogil
    cpdef int32_t give(self) noexcept nogil
