cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core.client._native cimport arguments, views
from aeron_core.client.subscriptions.image cimport Image
from aeron_core.logbuffer.batch_buffer cimport BatchBuffer


@cython.final
cdef class Subscription:
    cdef readonly str channel                   # the channel URI, as added
    cdef readonly int32_t stream_id             # the stream within the channel
    cdef readonly int64_t registration_id       # id in the driver
    cdef readonly int32_t channel_status_id     # counter id, or -1 for IPC and spies
    cdef readonly bint is_closed                # whether it was closed
    cdef readonly object on_available_image     # called with each new image
    cdef readonly object on_unavailable_image   # called with each image that became unavailable
    cdef object _owner                          # the client, see ResourceOwner
    cdef tuple _images                          # replaced, never changed: a running poll keeps the tuple it began with
    cdef int64_t _round_robin                   # index of the image that the next poll begins with
    cdef BatchBuffer _batch                     # collects the messages of a batch

    cdef int64_t _first(self, int64_t count) noexcept
    @cython.locals(count=int64_t, first=int64_t, i=int64_t, fragments=int32_t)
    cdef int32_t _poll(self, object handler, int32_t fragment_limit, int64_t limit_position) except -1
    @cython.locals(count=int64_t, first=int64_t, i=int64_t, fragments=int32_t)
    cdef int32_t _controlled_poll(self, object handler, int32_t fragment_limit) except -1
    @cython.locals(count=int64_t, first=int64_t, i=int64_t, messages=int64_t)
    cdef int64_t _gather(self, int64_t max_messages) except -1
    cdef int _reserve(self, int64_t max_messages, int64_t length) except -1
