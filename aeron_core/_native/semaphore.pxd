cimport cython
from libc.stdint cimport int64_t

cdef extern from "<semaphore.h>" nogil:
    ctypedef struct sem_t:
        pass


@cython.final
cdef class NamedSemaphore:
    cdef sem_t *_semaphore
    cdef readonly str name
    cdef object _owner
    cdef object _lock   # file of the semaphore, locked while this process lives

    cdef bint wait(self, int64_t timeout_ns) noexcept nogil
    cdef void post(self) noexcept nogil
