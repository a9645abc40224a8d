"""Payload: the bytes of a Python object, borrowed for one call without an allocation.

Invariant: `buffer` is empty except between `borrow` and `give_back`, which one thread calls while it holds the
GIL, so that no other code finds a pointer into a freed object.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport memset


@cython.final
cdef class Payload:
    """The bytes of one borrowed object at a time; used under the GIL."""

    def __cinit__(self):
        self.buffer = AtomicBuffer(b"")
        self.buffer.capacity = 0

    cdef int64_t _export(self, object data) except -1:
        # Use a variable first, because the exporter may be Python code that offers on the same publication.
        cdef Py_buffer view
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        self._view = view
        self._is_exported = True
        self.buffer._address = <uint8_t *>view.buf
        self.buffer.capacity = view.len
        return view.len

    cdef int _release(self) except -1:
        cdef Py_buffer view = self._view
        self._is_exported = False
        # The garbage collector visits the exporter of a Py_buffer attribute even after its release: clear it.
        memset(&self._view, 0, sizeof(Py_buffer))
        PyBuffer_Release(&view)
        return 0
