cimport cython

from aeron_core._native.counter cimport Counter


@cython.final
cdef class ReaderCounters:
    cdef readonly Counter connections     # connections that are open
    cdef readonly Counter accepted        # connections that were taken
    cdef readonly Counter memory          # bytes that connections hold
    cdef readonly Counter windows         # W frames
    cdef readonly Counter events          # J and D frames
    cdef readonly Counter bytes_received  # bytes off sockets
    cdef readonly Counter bytes_inflated  # bytes that came out of C frames
    cdef readonly Counter acks            # acknowledgements of windows
    cdef readonly Counter keep_alives     # acknowledgements of nothing
    cdef readonly Counter malformed       # connections ended for what is no Lumberjack
    cdef readonly Counter over_limit      # connections ended for going beyond a limit
    cdef readonly Counter overdue         # connections ended for doing nothing
    cdef readonly Counter turned_away     # connections beyond max-connections
    cdef readonly Counter abandoned       # connections given up because nobody takes their events
    cdef readonly Counter broken          # connections that failed
    cdef readonly Counter lag               # events that were taken and are not acknowledged
    cdef readonly object tls                # None for plain connections
    cdef readonly object singly             # of single connections
