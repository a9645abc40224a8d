"""Memoryviews of fragments, at the price of a few stores instead of an allocation.

A view that nobody kept is moved to the next fragment; a view that was kept stays where it is. Every view holds
the memory it looks into, so that it never points to nothing, even after its log was closed; what it shows
changes once the term is used again.
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
        """Return a view of `length` bytes from `offset` on, for tests and callers that are not compiled."""
        return self.view(offset, length)
