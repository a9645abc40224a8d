cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

cdef extern from "integers.h":
    object ac_reuse_int(PyObject **last, int64_t value)


@cython.final
cdef class ReusedInt:
    cdef PyObject *_last   # owned; NULL before the first use

    # Return `value` as a Python int. If it is 4096 or more, overwrite and return the object of an earlier call, unless
    # the program still refers to it or `integers.h` does not support this build of Python. Needs the GIL.
    cdef inline object of(self, int64_t value):
        return ac_reuse_int(&self._last, value)
