"""Memoryviews of fragments, at the cost of a few stores instead of an allocation, and copies of many messages.

A view without other references is moved to the next fragment; a view that the program kept stays unchanged. Every
view keeps its memory mapped, so that it never dangles, even after its log was closed; its content changes once the
term is reused.
"""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF

@cython.final
cdef class ViewFactory:
    """Read-only views of ranges of one buffer. One thread at a time."""

    def __init__(self, AtomicBuffer buffer not None):
        self._buffer = buffer
        self._whole = memoryview(buffer).toreadonly()
        self._last = PyMemoryView_FromObject(self._whole)

    def __call__(self, int64_t offset, int64_t length):
        """Return a view of `length` bytes from `offset` on, for uncompiled callers; IndexError if outside."""
        return self.view(offset, length)


cpdef list copies(AtomicBuffer data, AtomicBuffer boundaries, int64_t count):
    """Return `count` messages as bytes objects; message i is in `data` from entry i of `boundaries` up to entry i + 1.

    `boundaries`: int64. Raises IndexError if a message lies outside `data`, or if entries are missing.
    """
    # Checked once: nothing else changes the arrays while this thread has the GIL.
    cdef const int64_t *ends = <const int64_t *>boundaries.at(0, (max(count, 0) + 1) * 8)
    cdef list messages = PyList_New(max(count, 0))
    cdef int64_t begin = ends[0]
    cdef int64_t end, i
    cdef object message
    for i in range(count):
        end = ends[i + 1]
        message = PyBytes_FromStringAndSize(<const char *>data.at(begin, end - begin), end - begin)
        # The list takes over the reference; an assignment would release the former item first, which does not exist.
        Py_INCREF(message)
        PyList_SET_ITEM(messages, i, message)
        begin = end
    return messages
