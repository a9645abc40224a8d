cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.clock cimport Clock
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.pointers cimport PointerList
from aeron_core.agent.agent cimport Agent
from aeron_core.agent.duty_cycle cimport DutyCycleTracker
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.answers cimport Answers
from aeron_core.driver.receiver.dispatcher cimport Dispatcher, StreamInterest
from aeron_core.driver.agents.polled_endpoints cimport PolledReceiveEndpoints
from aeron_core.driver.receiver.publication_image cimport PublicationImage
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint


cdef class Receiver(Agent):
    cdef Clock _clock
    cdef DutyCycleTracker _duty_cycle
    cdef CommandRing _commands              # from the conductor
    cdef Answers _answers                   # to it
    cdef Command _command
    cdef PolledReceiveEndpoints _endpoints
    cdef PointerList _images                # of PublicationImage
    cdef int32_t _next_image

    @cython.locals(index=int32_t, work=int32_t)
    cdef int32_t _care_for_images(self, int64_t now_ns) except -1 nogil
    @cython.locals(work=int32_t)
    cdef int32_t _drain_commands(self) except -1 nogil
    cdef int32_t _execute(self) except -1 nogil
    cdef int32_t _execute_on_dispatcher(self) except -1 nogil
    cdef int32_t _execute_on_image(self) except -1 nogil
    @cython.locals(i=int32_t)
    cdef int32_t _silence_predecessors(self, PublicationImage successor) except -1 nogil
    cdef int32_t _release(self) except -1 nogil
    cdef int32_t _link(self, int64_t join_position) except -1 nogil
