cimport cython

from aeron_core._native.counter cimport Counter


@cython.final
cdef class WriterCounters:
    cdef readonly Counter connected     # open connections
    cdef readonly Counter attempts      # connection attempts
    cdef readonly Counter windows       # windows sent
    cdef readonly Counter events        # events sent
    cdef readonly Counter bytes_sent    # bytes sent
    cdef readonly Counter acks          # windows acknowledged
    cdef readonly Counter keep_alives   # acknowledgements with sequence number 0
    cdef readonly Counter resends       # windows to be sent again
    cdef readonly Counter passed_over   # messages that no reader accepts
    cdef readonly Counter lost          # connections lost
    cdef readonly Counter lag           # bytes offered and not acknowledged; written by the conductor
    cdef readonly object tls            # None for plain connections
    cdef readonly object singly         # counters of single connections
