cimport cython

from aeron_core._native.counter cimport Counter


@cython.final
cdef class WriterCounters:
    cdef readonly Counter connected     # connections that stand
    cdef readonly Counter attempts      # connections that were begun
    cdef readonly Counter windows       # windows that were sent
    cdef readonly Counter events        # events that were sent
    cdef readonly Counter bytes_sent    # bytes that were sent
    cdef readonly Counter acks          # windows that were acknowledged
    cdef readonly Counter keep_alives   # acknowledgements of nothing
    cdef readonly Counter resends       # windows that are sent again
    cdef readonly Counter passed_over   # messages that no reader takes
    cdef readonly Counter lost          # connections that were lost
    cdef readonly Counter lag           # bytes that were offered and are not acknowledged; of the conductor
    cdef readonly object tls            # None for plain connections
    cdef readonly object singly         # of single connections
