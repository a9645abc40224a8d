cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t

from aeron_core._native cimport wire
from aeron_core._native.pointers cimport PointerList, QuietList
from aeron_core.driver._native cimport operations


@cython.final
cdef class StreamActivity:
    cdef int32_t _index             # in `_quiet`, -1 if the stream is active or in no list
    cdef PyObject *_active          # PointerList of the agent, which owns it; NULL before `join`
    cdef PyObject *_quiet           # its QuietList, which refers to this object
    cdef PyObject *_stream          # borrowed: the owner of this object
    cdef int64_t _until_ns          # active until then, unless it moves again
    cdef int64_t _active_ns
    cdef int64_t _next_timer_ns     # at which the stream is visited even if it is quiet
    cdef int64_t _timer_interval_ns
    cdef int64_t _phase             # of the timers of the stream, in hundredths of their interval

    cdef int32_t join(self, PointerList active, QuietList quiet, PyObject *stream) except -1 nogil
    cdef int32_t leave(self) noexcept nogil
    cdef int32_t wake(self) except -1 nogil
    cdef int32_t calm(self, const uint64_t *tails, uint64_t seen, int32_t attention) except -1 nogil
    cdef int32_t hurry(self) except -1 nogil
    cdef void move(self, int64_t now_ns) noexcept nogil
    cdef void visit(self, int64_t now_ns) noexcept nogil
    cdef int64_t next_timer_ns(self) noexcept nogil
    @cython.locals(ahead_ns=int64_t)
    cdef int64_t due_ns(self, int64_t last_ns, int64_t interval_ns) noexcept nogil
    cdef int32_t remind(self, int64_t time_ns) noexcept nogil
    cdef bint is_over(self, int64_t now_ns) noexcept nogil


@cython.final
cdef class StreamTurns:
    cdef int64_t _last_ns           # of the last duty cycle
    cdef int64_t _turn_ns

    @cython.locals(elapsed_ns=int64_t)
    cpdef int32_t begin(self, int32_t count, int64_t now_ns) noexcept nogil
