cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport park
from aeron_core._native.park cimport Bell
from aeron_core._native.semaphore cimport NamedSemaphore
from aeron_core.agent.agent cimport Agent
from aeron_core.spi.idle_strategy cimport IdleStrategy


cdef class NoOpIdleStrategy(IdleStrategy):
    pass


cdef class SpinIdleStrategy(IdleStrategy):
    pass


cdef class YieldIdleStrategy(IdleStrategy):
    pass


cdef class SleepIdleStrategy(IdleStrategy):
    cdef int64_t _duration_ns


@cython.final
cdef class BellWait:
    cdef Bell _bell
    cdef Agent _agent
    cdef bint _is_attached
    cdef bint _is_heard       # the bell was armed, and no work came since
    cdef bint _is_first       # the next wait is the first one since the bell was armed
    cdef bint _was_ready      # a descriptor ended the last wait, and no work came since
    cdef int64_t _first_ns

    cdef bint is_attached(self) noexcept nogil
    @cython.locals(watches=cython.bint, resting_ns=int64_t)
    cdef int32_t wait(self, int64_t duration_ns, int64_t rest_ns) except -1 nogil
    cdef int32_t stop(self) noexcept nogil


cdef class BackoffIdleStrategy(IdleStrategy):
    cdef int64_t _max_spins
    cdef int64_t _max_yields
    cdef int64_t _min_park_ns
    cdef int64_t _max_park_ns
    cdef int64_t _spins
    cdef int64_t _yields
    cdef int64_t _park_ns
    cdef int64_t _rest_ns    # of a sleep while the agent rests, at least `_max_park_ns`
    cdef BellWait _wait

    cdef int32_t _restart(self) noexcept nogil


cdef class SignalIdleStrategy(IdleStrategy):
    cdef readonly NamedSemaphore semaphore   # posted to wake the agent
    cdef int64_t _bound_ns
    cdef BellWait _wait
