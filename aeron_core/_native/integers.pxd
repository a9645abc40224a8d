cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

cdef extern from "integers.h":
    object ac_reuse_int(PyObject **last, int64_t value)


@cython.final
cdef class ReusedInt:
    cdef PyObject *_last   # owned; NULL before the first use

    # Return `value` as a Python int. From 4096 on it is the object of an earlier call, overwritten, unless that object
    # is still used or this build of Python is not supported (`integers.h`): then a new one. Needs the GIL.
    cdef inline object of(self, int64_t value):
        return ac_reuse_int(&self._last, value)
