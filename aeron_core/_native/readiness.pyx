"""Readiness of many file descriptors with one system call (epoll).

Not here: reading from them. A descriptor must be removed before it is closed.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free
from libc.string cimport strerror

cdef extern from "readiness.h" nogil:
    int ac_ready_open()
    void ac_ready_close(int descriptor)
    bint ac_ready_add(int descriptor, int watched, void *item)
    void ac_ready_remove(int descriptor, int watched)
    int ac_ready_wait(int descriptor, ac_ready_t *ready)

READY_CAPACITY = AC_READY_CAPACITY


@cython.final
cdef class ReadinessSet:
    """Descriptors with one borrowed object each; used by one thread. Raises OSError if the system refuses a set."""

    def __cinit__(self):
        self._descriptor = -1
        self._ready = <ac_ready_t *>calloc(1, sizeof(ac_ready_t))
        if self._ready == NULL:
            raise MemoryError("cannot allocate memory for ready descriptors: free memory, or raise the memory limit")
        cdef int descriptor = ac_ready_open()
        if descriptor < 0:
            raise OSError(
                -descriptor,
                f"cannot create an epoll descriptor: {strerror(-descriptor).decode()}; raise the limit of open files, "
                f"ulimit -n or fs.file-max, or free memory",
            )
        self._descriptor = descriptor

    def __dealloc__(self):
        if self._descriptor >= 0:
            ac_ready_close(self._descriptor)
        free(self._ready)

    @property
    def descriptor(self):
        """The descriptor of the set, readable while a watched one is; -1 once closed."""
        return self._descriptor

    def close(self):
        """Close the descriptor of the set; afterwards nothing becomes ready."""
        if self._descriptor >= 0:
            ac_ready_close(self._descriptor)
            self._descriptor = -1

    cdef bint add(self, int32_t descriptor, PyObject *item) noexcept nogil:
        return ac_ready_add(self._descriptor, descriptor, item)

    cdef void remove(self, int32_t descriptor) noexcept nogil:
        ac_ready_remove(self._descriptor, descriptor)

    cdef int32_t wait(self) noexcept nogil:
        return ac_ready_wait(self._descriptor, self._ready)
