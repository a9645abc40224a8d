cimport cython
from cpython.buffer cimport Py_buffer
from libc.stdint cimport int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class ViewFactory:
    cdef AtomicBuffer _buffer   # what is looked into
    cdef object _whole          # a read-only memoryview of all of it: the one export that all views share
    cdef object _last           # the view that was handed out last

    cdef object view(self, int64_t offset, int64_t length)
