cimport cython
from cpython.buffer cimport Py_buffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer

cdef extern from "Python.h":
    ctypedef struct PyMemoryViewObject:
        Py_hash_t hash         # cached; -1 until computed
        int flags
        Py_ssize_t exports     # buffers taken from the view
        PyObject *weakreflist
    int _Py_MEMORYVIEW_RELEASED
    Py_buffer *PyMemoryView_GET_BUFFER(object view)
    object PyMemoryView_FromObject(object exporter)
    Py_ssize_t Py_REFCNT(PyObject *o)

# Return whether `view` can be moved: only the factory refers to it, nothing has a buffer or a weak reference of it, and
# no program has released it. The argument is a pointer, because an object would add a reference.
cdef inline bint is_free(PyObject *view) noexcept:
    cdef PyMemoryViewObject *fields = <PyMemoryViewObject *>view
    return (
        Py_REFCNT(view) == 1
        and fields.exports == 0
        and fields.weakreflist == NULL
        and fields.flags & _Py_MEMORYVIEW_RELEASED == 0
    )


@cython.final
cdef class ViewFactory:
    cdef AtomicBuffer _buffer   # the memory of all views
    cdef object _whole          # a read-only memoryview of all of it: the one export that all views share
    cdef object _last           # the view that was returned last

    cdef inline object view(self, int64_t offset, int64_t length):
        cdef Py_buffer *fields
        self._buffer.check(offset, length)
        if not is_free(<PyObject *>self._last):
            self._last = PyMemoryView_FromObject(self._whole)
        # The view's own description of its memory, one dimension of bytes: a new start and length move the view.
        fields = PyMemoryView_GET_BUFFER(self._last)
        fields.buf = self._buffer._address + offset
        fields.len = length
        fields.shape[0] = length
        (<PyMemoryViewObject *>self._last).hash = -1
        return self._last

cpdef list copies(AtomicBuffer data, AtomicBuffer boundaries, int64_t count)
