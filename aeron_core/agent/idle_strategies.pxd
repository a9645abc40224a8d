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


cdef class BackoffIdleStrategy(IdleStrategy):
    cdef int64_t _max_spins
    cdef int64_t _max_yields
    cdef int64_t _min_park_ns
    cdef int64_t _max_park_ns
    cdef int64_t _spins
    cdef int64_t _yields
    cdef int64_t _park_ns
    cdef int64_t _rest_ns    # of a sleep while the agent rests, at least `_max_park_ns`
    cdef Agent _agent        # None until attached, as the bell
    cdef Bell _bell
    cdef bint _was_ready      # whether a descriptor ended the last sleep, and no work came since

    cdef int32_t _restart(self) noexcept nogil
    @cython.locals(duration_ns=int64_t)
    cdef int32_t _park(self) except -1 nogil


cdef class SignalIdleStrategy(IdleStrategy):
    cdef readonly NamedSemaphore semaphore   # posted to wake the agent
    cdef int64_t _bound_ns
    cdef Bell _bell                          # None until attached
    cdef bint _was_ready                      # as in BackoffIdleStrategy
