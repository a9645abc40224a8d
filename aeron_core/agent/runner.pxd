from libc.stdint cimport int32_t, int64_t

from aeron_core._native.atomic_long cimport AtomicLong
from aeron_core._native.park cimport sleep_ns
from aeron_core.agent.agent cimport Agent
from aeron_core.spi.idle_strategy cimport IdleStrategy


cdef class AgentRunner:
    cdef Agent _agent
    cdef IdleStrategy _idle_strategy
    cdef object _on_error
    cdef object _thread
    cdef AtomicLong _is_running
    cdef bint _is_closed
    cdef int64_t _error_pause_ns

    cdef int32_t _run_cycles(self) except -1 nogil
