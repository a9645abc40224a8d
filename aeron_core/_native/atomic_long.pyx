"""A 64-bit number with one writing thread and any number of readers."""

cimport cython


@cython.final
cdef class AtomicLong:
    """A number stored with release and loaded with acquire.

    A reader that sees a value also sees everything that the writer did before it stored that value.
    """
    def __init__(self, int64_t value=0):
        self._value = value

    def __repr__(self):
        return f"AtomicLong({self.get_acquire()})"
