cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t


@cython.final
cdef class PointerList:
    cdef PyObject **_items
    cdef readonly int32_t size
    cdef int32_t _capacity

    cdef inline PyObject *at(self, int32_t index) noexcept nogil:
        return self._items[index]

    cdef int32_t append(self, PyObject *item) except -1 nogil
    cdef bint remove(self, PyObject *item) noexcept nogil
    cdef bint contains(self, PyObject *item) noexcept nogil


@cython.final
cdef class PointerMap:
    cdef int64_t *_keys
    cdef PyObject **_values     # NULL = empty slot
    cdef int32_t _capacity      # a power of two, at most two thirds used
    cdef readonly int32_t size

    cdef int _allocate(self, int32_t capacity) except -1 nogil
    cdef int _grow(self) except -1 nogil
    cdef PyObject *get(self, int64_t key) noexcept nogil
    cdef int32_t put(self, int64_t key, PyObject *value) except -1 nogil
    cdef PyObject *remove(self, int64_t key) noexcept nogil


cdef inline int64_t pair_key(int32_t high, int32_t low) noexcept nogil:
    return (<int64_t>high << 32) | <int64_t><uint32_t>low
