cimport cython
from libc.stdint cimport int64_t

from aeron_core._native cimport wire
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core.client.publications.publication_base cimport PublicationBase
from aeron_core.logbuffer.exclusive_appender cimport ExclusiveAppender


@cython.final
cdef class ExclusivePublication(PublicationBase):
    cdef ExclusiveAppender _exclusive_appender   # the same object as `_appender`
