cimport cython

from aeron_core.client.publications.publication_base cimport PublicationBase
from aeron_core.logbuffer.appender cimport ConcurrentAppender


@cython.final
cdef class Publication(PublicationBase):
    pass
