cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.client.subscriptions.header cimport Header
from aeron_core.client.subscriptions.message_builder cimport MessageBuilder


@cython.final
cdef class FragmentAssembler:
    cdef object _handler
    cdef int64_t _max_message_length
    cdef dict _builders          # by session id

    @cython.locals(flags=uint8_t, builder=MessageBuilder)
    cdef object _on_fragment(self, object buffer, Header header)
