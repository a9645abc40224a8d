cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport wire
from aeron_core.client.subscriptions.header cimport Header
from aeron_core.client.subscriptions.message_builder cimport MessageBuilder


@cython.final
cdef class ControlledFragmentAssembler:
    cdef int64_t _max_message_length
    cdef object _handler
    cdef dict _builders          # by session id

    @cython.locals(flags=uint8_t, builder=MessageBuilder)
    cdef object _on_fragment(self, object buffer, Header header)
    cdef object _deliver(self, MessageBuilder builder, object buffer, Header header)
