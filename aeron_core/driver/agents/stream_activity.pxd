cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList
from aeron_core.driver._native cimport operations


@cython.final
cdef class StreamActivity:
    cdef bint is_active             # in `_active`
    cdef PyObject *_active          # PointerList of the agent, which owns it; NULL before `join`
    cdef PyObject *_stream          # borrowed: the owner of this object
    cdef int64_t _until_ns          # active until then, unless it moves again
    cdef int64_t _active_ns
    cdef int64_t _next_timer_ns     # for a quiet stream
    cdef int64_t _timer_interval_ns

    cdef int32_t join(self, PointerList active, PyObject *stream) except -1 nogil
    cdef int32_t leave(self) noexcept nogil
    cdef int32_t wake(self) except -1 nogil
    cdef int32_t hurry(self) except -1 nogil
    cdef void move(self, int64_t now_ns) noexcept nogil
    cdef void visit(self, int64_t now_ns) noexcept nogil
    cdef bint is_over(self, int64_t now_ns) noexcept nogil


@cython.final
cdef class StreamTurns:
    cdef int32_t _next              # index
    cdef int64_t _last_ns           # of the last duty cycle
    cdef int64_t _turn_ns

    @cython.locals(elapsed_ns=int64_t)
    cpdef int32_t begin(self, int32_t count, int64_t now_ns) noexcept nogil
    @cython.locals(index=int32_t)
    cpdef int32_t next(self, int32_t count) noexcept nogil
