cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport peers, wire
from aeron_core._native.park cimport Bell
from aeron_core.client.channel_peers cimport ChannelPeers
from aeron_core.client.publications.exclusive_publication cimport ExclusivePublication
from aeron_core.client.subscriptions.image cimport Image
from aeron_core.logbuffer.exclusive_appender cimport ExclusiveAppender
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer


@cython.final
cdef class Forwarder:
    cdef readonly Image image
    cdef readonly int64_t messages        # forwarded
    cdef readonly int64_t bytes           # payload bytes of the forwarded messages
    cdef readonly int64_t too_long        # messages dropped as too long for the other side
    cdef ExclusivePublication _publication
    cdef ExclusiveAppender _appender
    cdef Bell _bell                       # as in `PublicationState`
    cdef Bell _limit_bell
    cdef ChannelPeers _peers
    cdef BatchBuffer _batch
    cdef int64_t _next                    # index in the batch of the next message to forward

    cpdef bint has_messages(self) except -1
    cpdef int64_t forward(self, bint is_addressed, int32_t session_id) except? -1985229329
    @cython.locals(result=int64_t, begin=int64_t, length=int64_t, hops=int64_t)
    cdef int64_t _forward(self, bint is_addressed, int32_t session_id) except? -1985229329 nogil
