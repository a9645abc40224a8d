from libc.stdint cimport int32_t, int64_t


cdef class IdleStrategy:
    cdef int32_t idle(self, int32_t work_count) except -1 nogil
    cdef int64_t _reserved_0(self) except? -1 nogil
    cdef int64_t _reserved_1(self) except? -1 nogil


cdef class PythonIdleStrategy(IdleStrategy):
    cdef object _idle       # bound methods, or None if the strategy lacks them
    cdef object _wake
    cdef object _close
