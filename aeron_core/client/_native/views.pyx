"""Memoryviews of fragments, at the cost of a few stores instead of an allocation.

A view without other references is moved to the next fragment; a view that the program kept stays unchanged. Every
view keeps its memory mapped, so that it never dangles, even after its log was closed; its content changes once the
term is reused.
"""

cimport cython

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
