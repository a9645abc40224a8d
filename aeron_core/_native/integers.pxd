cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

cdef extern from "integers.h":
    object ac_reuse_int(PyObject **last, int64_t value)


@cython.final
cdef class ReusedInt:
    cdef PyObject *_last   # owned; NULL before the first use

    # Return `value` as a Python int, without an allocation if the object of the last call is not used any more: that
    # object is overwritten. Needs the GIL.
    cdef inline object of(self, int64_t value):
        return ac_reuse_int(&self._last, value)
