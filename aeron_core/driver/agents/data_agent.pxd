cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.clock cimport Clock
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.pointers cimport PointerList
from aeron_core.agent.agent cimport Agent, PythonAgent
from aeron_core.agent.duty_cycle cimport DutyCycleTracker
from aeron_core.driver._native cimport operations


@cython.final
cdef class Answers:
    cdef CommandRing _conductor     # ring to the conductor, shared with the events of the agent
    cdef Command _answer            # reused, so that the duty cycle does not allocate
    cdef bint _is_waiting           # for space in the ring

    cdef bint flush(self) noexcept nogil
    cdef int32_t send(self, Command command, int32_t code, int64_t value) noexcept nogil


@cython.final
cdef class ConductorAgent(PythonAgent):
    cdef Clock _clock
    cdef DutyCycleTracker _duty_cycle
    cdef AtomicBuffer _to_driver        # ring of clients, and the offsets of its positions
    cdef int64_t _tail_offset
    cdef int64_t _head_offset
    cdef object _kept                   # the rings in the next field, which borrows them
    cdef PointerList _from_senders
    cdef CommandRing _from_receiver
    cdef int64_t _pause_until_ns        # no duty cycle until then, unless something arrives
    cdef int64_t _longest_pause_ns

    cdef int32_t _run(self, int64_t now_ns) except? -1
    cdef bint _is_quiet(self) except -1 nogil
    @cython.locals(i=int32_t)
    cdef bint _has_no_events(self) except -1 nogil


cdef class DataAgent(Agent):
    cdef Clock _clock               # read once per duty cycle; parts that are called get the time as an argument
    cdef DutyCycleTracker _duty_cycle  # counters of the longest and of too long cycles
    cdef CommandRing _commands      # from the conductor
    cdef Answers _answers           # to the conductor
    cdef Command _command           # that is being executed

    @cython.locals(work=int32_t)
    cdef int32_t _drain_commands(self) except -1 nogil
    cdef int32_t _execute(self) except -1 nogil
    cdef int32_t _release(self) except -1 nogil
    cdef int32_t _link(self, int64_t join_position) except -1 nogil
