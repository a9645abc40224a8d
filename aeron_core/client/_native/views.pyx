"""Memoryviews of fragments, at the price of a few stores instead of an allocation.

A view that nobody kept is moved to the next fragment; a view that was kept stays where it is. Every view holds
the memory it looks into, so that it never points to nothing, even after its log was closed; what it shows
changes once the term is used again.
"""

cimport cython
from cpython.buffer cimport Py_buffer
from cpython.object cimport PyObject

cdef extern from "Python.h":
    ctypedef struct PyMemoryViewObject:
        Py_hash_t hash         # cached; -1 while it was not asked for
        int flags
        Py_ssize_t exports     # buffers taken from the view
        PyObject *weakreflist
    int _Py_MEMORYVIEW_RELEASED
    Py_buffer *PyMemoryView_GET_BUFFER(object view)
    object PyMemoryView_FromObject(object exporter)
    Py_ssize_t Py_REFCNT(PyObject *o)


cdef inline bint is_free(PyObject *view) noexcept:
    """Whether nobody but its factory knows `view`; a program may have released it.

    A pointer: to pass it as an object would be one more reference to it.
    """
    cdef PyMemoryViewObject *fields = <PyMemoryViewObject *>view
    return (
        Py_REFCNT(view) == 1
        and fields.exports == 0
        and fields.weakreflist == NULL
        and fields.flags & _Py_MEMORYVIEW_RELEASED == 0
    )


@cython.final
cdef class ViewFactory:
    """Read-only views of ranges of one buffer. One thread at a time."""

    def __init__(self, AtomicBuffer buffer not None):
        self._buffer = buffer
        self._whole = memoryview(buffer).toreadonly()
        self._last = PyMemoryView_FromObject(self._whole)

    cdef object view(self, int64_t offset, int64_t length):
        cdef Py_buffer *fields
        self._buffer.check(offset, length)
        if not is_free(<PyObject *>self._last):
            self._last = PyMemoryView_FromObject(self._whole)
        # The view's own copy of the description of its memory: one dimension of bytes, whose start and length
        # are all that slicing changes.
        fields = PyMemoryView_GET_BUFFER(self._last)
        fields.buf = self._buffer._address + offset
        fields.len = length
        fields.shape[0] = length
        (<PyMemoryViewObject *>self._last).hash = -1
        return self._last

    def __call__(self, int64_t offset, int64_t length):
        """Return a view of `length` bytes from `offset` on, for tests and callers that are not compiled."""
        return self.view(offset, length)
