cimport cython
from libc.stdint cimport int32_t, int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.client._native cimport arguments
from aeron_core.client.publications.claim cimport Claim
from aeron_core.client.publications.publication_base cimport PublicationBase, refuse_length
from aeron_core.logbuffer.claim cimport BufferClaim
from aeron_core.logbuffer.exclusive_appender cimport ExclusiveAppender


@cython.final
cdef class ExclusivePublication(PublicationBase):
    cdef ExclusiveAppender _appender

    @cython.locals(length=int64_t, result=int64_t)
    cdef int64_t _offer(self, object data, int64_t reserved_value) except? -1985229329
    cdef int64_t _offer_parts(self, object parts, int64_t reserved_value) except? -1985229329
