cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.commands cimport Command, CommandRing


@cython.final
cdef class Answers:
    cdef CommandRing _conductor     # the agent's events go there too
    cdef Command _answer
    cdef bint _is_waiting           # for room in the ring

    cdef bint are_sent(self) noexcept nogil
    cdef int32_t give(self, Command command, int32_t code, int64_t value) noexcept nogil
