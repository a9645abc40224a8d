"""Reuse of Python int objects for results that a program rarely keeps, such as the positions of offers."""

cimport cython
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t


@cython.final
cdef class ReusedInt:
    """Returns ints, without an allocation if the program did not keep the previous one. Needs the GIL."""

    def __dealloc__(self):
        Py_XDECREF(self._last)

    def __call__(self, int64_t value):
        """Return `value`, for tests and uncompiled callers."""
        return self.of(value)
