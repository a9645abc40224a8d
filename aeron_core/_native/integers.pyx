"""Python ints of which a program rarely keeps more than one, such as the positions that offers return."""

cimport cython
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t


@cython.final
cdef class ReusedInt:
    """Makes ints without an allocation, as long as the one before was not kept."""

    def __dealloc__(self):
        Py_XDECREF(self._last)

    def __call__(self, int64_t value):
        """Return `value`, for tests and callers that are not compiled."""
        return self.of(value)
