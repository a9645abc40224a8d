cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aeron_core._native.buffer cimport AtomicBuffer


cdef class EventSink:
    cdef readonly int64_t fault_limit     # limit that was exceeded, set by a sink before it returns a fault
    cdef int32_t on_window(self, uint8_t version, uint32_t count) except -1 nogil
    cdef int32_t on_event(
        self, uint8_t version, uint32_t sequence, AtomicBuffer buffer, int64_t offset, int32_t length
    ) except -1 nogil


@cython.final
cdef class CountingSink(EventSink):
    cdef readonly int64_t windows
    cdef readonly int64_t events
    cdef readonly int64_t length          # bytes of the events


@cython.final
cdef class PythonSink(EventSink):
    cdef object _on_window
    cdef object _on_event
