cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList


cdef class Agent:
    cdef readonly str role_name
    cdef int32_t do_work(self) except? -1 nogil
    cdef int64_t rest_ns(self, int64_t longest_ns) except -1 nogil
    cdef int32_t attend(self, bint is_heard) noexcept nogil
    cdef bint has_received(self) noexcept nogil


cdef class PythonAgent(Agent):
    cdef object _delegate
    cdef bint _can_rest


cdef class CompositeAgent(Agent):
    cdef list _agents               # keeps the agents alive
    cdef PointerList _pointers
    cdef int32_t _next              # index of the next agent in this duty cycle

    @cython.locals(work=int32_t, index=int32_t)
    cdef int32_t do_work(self) except? -1 nogil
    @cython.locals(index=int32_t, shortest_ns=int64_t)
    cdef int64_t rest_ns(self, int64_t longest_ns) except -1 nogil
    @cython.locals(index=int32_t)
    cdef int32_t attend(self, bint is_heard) noexcept nogil
    @cython.locals(index=int32_t)
    cdef bint has_received(self) noexcept nogil
