cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.pointers cimport PointerList, QuietList
from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.data_agent cimport DataAgent
from aeron_core.driver.agents.stream_activity cimport StreamActivity, StreamTurns
from aeron_core.driver.receiver.dispatcher cimport Dispatcher
from aeron_core.driver.agents.polled_endpoints cimport PolledReceiveEndpoints
from aeron_core.driver.receiver.publication_image cimport PublicationImage
from aeron_core.driver.receiver.stream_interest cimport StreamInterest
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition
from aeron_core.spi.endpoints cimport ReceiveChannelEndpoint


cdef class Receiver(DataAgent):
    cdef PolledReceiveEndpoints _endpoints
    cdef PointerList _images                # of PublicationImage
    cdef PointerList _active                # of them, those that are visited in every duty cycle
    cdef QuietList _quiet                   # of the StreamActivity of the others
    cdef StreamTurns _turns                 # of these
    cdef int32_t _next_image                # next index of the walk: 0, except after an image that raised

    @cython.locals(i=int32_t, until_ns=int64_t)
    cdef int64_t rest_ns(self, int64_t longest_ns) except -1 nogil
    cdef bint has_received(self) noexcept nogil
    @cython.locals(index=int32_t, work=int32_t, messages=int32_t)
    cdef int32_t _update_images(self, int64_t now_ns) except -1 nogil
    cdef int32_t _execute(self) except -1 nogil
    cdef int32_t _execute_on_dispatcher(self) except -1 nogil
    cdef int32_t _execute_on_image(self) except -1 nogil
    @cython.locals(i=int32_t)
    cdef int32_t _silence_predecessors(self, PublicationImage successor) except -1 nogil
