cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

cdef extern from "readiness.h" nogil:
    enum:
        AC_READY_CAPACITY
    ctypedef struct ac_ready_t:
        int count
    void *ac_ready_item(const ac_ready_t *ready, int index)


@cython.final
cdef class ReadinessSet:
    cdef int _descriptor            # the epoll instance, readable while a watched descriptor is
    cdef ac_ready_t *_ready         # results of the last `wait`

    # Watch `descriptor`; `at` returns `item`, a borrowed reference, when it is readable. Return whether the kernel
    # accepted the descriptor.
    cdef bint add(self, int32_t descriptor, PyObject *item) noexcept nogil
    cdef void remove(self, int32_t descriptor) noexcept nogil
    # Return the number of ready descriptors without blocking, at most AC_READY_CAPACITY; the next call returns the others.
    cdef int32_t wait(self) noexcept nogil

    cdef inline PyObject *at(self, int32_t index) noexcept nogil:
        return <PyObject *>ac_ready_item(self._ready, index)
