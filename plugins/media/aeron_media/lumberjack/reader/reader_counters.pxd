cimport cython

from aeron_core._native.counter cimport Counter


@cython.final
cdef class ReaderCounters:
    cdef readonly Counter connections     # connections that are open
    cdef readonly Counter accepted        # connections accepted
    cdef readonly Counter memory          # bytes allocated by connections
    cdef readonly Counter windows         # W frames
    cdef readonly Counter events          # J and D frames
    cdef readonly Counter bytes_received  # bytes received from sockets
    cdef readonly Counter bytes_inflated  # bytes inflated from C frames
    cdef readonly Counter acks            # acknowledgements of windows
    cdef readonly Counter keep_alives     # acknowledgements with sequence number 0
    cdef readonly Counter malformed       # connections closed for violating the protocol
    cdef readonly Counter over_limit      # connections closed for exceeding a limit
    cdef readonly Counter overdue         # connections closed by a timeout
    cdef readonly Counter turned_away     # connections beyond max-connections
    cdef readonly Counter abandoned       # connections closed because no subscription takes their events
    cdef readonly Counter broken          # connections that failed
    cdef readonly Counter lag               # events received and not acknowledged
    cdef readonly object tls                # None for plain connections
    cdef readonly object singly             # counters of single connections
