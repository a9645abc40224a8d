"""A number that one thread writes and others read."""

cimport cython


@cython.final
cdef class AtomicLong:
    """A 64-bit number; a reader that sees a value also sees what its writer did before."""

    def __init__(self, int64_t value=0):
        self._value = value

    def __repr__(self):
        return f"AtomicLong({self.get_acquire()})"
