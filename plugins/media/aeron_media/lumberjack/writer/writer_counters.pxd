cimport cython

from aeron_core._native.counter cimport AtomicCounter


@cython.final
cdef class WriterCounters:
    cdef readonly AtomicCounter connected     # open connections
    cdef readonly AtomicCounter attempts      # connection attempts in total
    cdef readonly AtomicCounter windows       # windows sent
    cdef readonly AtomicCounter events        # events sent
    cdef readonly AtomicCounter bytes_sent    # bytes sent
    cdef readonly AtomicCounter acks          # windows acknowledged
    cdef readonly AtomicCounter keep_alives   # acknowledgements with sequence number 0
    cdef readonly AtomicCounter resends       # windows to be sent again
    cdef readonly AtomicCounter passed_over   # messages that no reader accepts
    cdef readonly AtomicCounter lost          # connections lost
    cdef readonly AtomicCounter lag           # bytes offered and not acknowledged; written by the conductor
    cdef readonly object tls            # None for plain connections
    cdef readonly object singly         # counters of single connections
