cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.client.subscriptions.header cimport Header


@cython.final
cdef class MessageBuilder:
    cdef int64_t _max_length         # bytes of the longest message that is kept
    cdef AtomicBuffer _buffer        # the message so far, and spare capacity
    cdef int64_t _length             # bytes of the message so far
    cdef int64_t _begin              # position at which the first fragment begins
    cdef int64_t _expected           # position at which the next fragment must begin, -1 without a message
    cdef Header _header              # copy of the header of the first fragment

    cdef int begin(self, object fragment, Header header) except -1
    cdef bint append(self, object fragment, Header header) except -1
    cdef int take_back(self, object fragment, Header header) except -1
    cdef object message(self)
    @cython.locals(header=Header)
    cdef Header header(self)
    cdef int reset(self) except -1
    cdef bint _put(self, object fragment) except -1
    @cython.locals(capacity=int64_t)
    cdef int _reserve(self, int64_t length) except -1
