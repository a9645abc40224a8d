cimport cython
from cpython.buffer cimport Py_buffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from aeron_core._native.buffer cimport AtomicBuffer


@cython.final
cdef class Payload:
    cdef AtomicBuffer buffer      # the borrowed bytes; empty between calls
    cdef Py_buffer _view          # the buffer of a payload that is not plain bytes
    cdef bint _is_exported        # whether `_view` must be released

    # Call `borrow`, then `give_back`, with the GIL and no Python code in between: all calls of one publication share
    # `buffer`.
    cdef inline int64_t borrow(self, object data) except -1:
        if PyBytes_CheckExact(data):
            self.buffer._address = <uint8_t *>PyBytes_AS_STRING(data)
            self.buffer.capacity = PyBytes_GET_SIZE(data)
            return self.buffer.capacity
        return self._export(data)

    cdef inline int give_back(self) except -1:
        self.buffer.capacity = 0
        if self._is_exported:
            return self._release()
        return 0

    cdef int64_t _export(self, object data) except -1
    cdef int _release(self) except -1
