cimport cython

from aeron_core._native.counter cimport AtomicCounter


@cython.final
cdef class ReaderCounters:
    cdef readonly AtomicCounter connections     # connections that are open
    cdef readonly AtomicCounter accepted        # connections accepted in total
    cdef readonly AtomicCounter memory          # bytes allocated by connections
    cdef readonly AtomicCounter windows         # W frames
    cdef readonly AtomicCounter events          # J and D frames
    cdef readonly AtomicCounter bytes_received  # bytes received from sockets
    cdef readonly AtomicCounter bytes_inflated  # bytes inflated from C frames
    cdef readonly AtomicCounter acks            # acknowledgements of windows, put into the output
    cdef readonly AtomicCounter keep_alives     # acknowledgements with sequence number 0
    cdef readonly AtomicCounter malformed       # connections closed for violating the protocol
    cdef readonly AtomicCounter over_limit      # connections closed for exceeding a limit
    cdef readonly AtomicCounter overdue         # connections closed by a timeout
    cdef readonly AtomicCounter turned_away     # connections beyond max-connections or max-per-source
    cdef readonly AtomicCounter evicted         # idle connections closed for new ones
    cdef readonly AtomicCounter abandoned       # connections closed because no subscription takes their events
    cdef readonly AtomicCounter broken          # connections that failed
    cdef readonly AtomicCounter lag             # events received and not acknowledged
    cdef readonly object tls                    # None for plain connections
    cdef readonly object singly                 # counters of single connections
