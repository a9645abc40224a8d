cimport cython
from libc.stdint cimport int32_t, int64_t


@cython.final
cdef class SpinLock:
    cdef int64_t _is_taken

    # Return whether the lock is the caller's now.
    cpdef bint try_take(self) noexcept nogil
    # Wait until it is.
    cpdef int32_t take(self) noexcept nogil
    cpdef int32_t give(self) noexcept nogil
