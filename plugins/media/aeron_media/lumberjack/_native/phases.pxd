# Phases of a connection. Order matters: a reader reads from its socket up to and including PHASE_FED.

# Reader side: one slot for each of the max-connections= connections that writers may open.
cpdef enum:
    PHASE_FREE = 0          # the slot has no connection
    PHASE_OPEN              # accepted, no byte received yet: a health check never gets further
    PHASE_FED               # received events are published to images
    PHASE_ENDING            # no more reads; acknowledgements are still due
    PHASE_LINGERING         # all acknowledgements are sent; input is discarded so that the peer receives the last one

# Writer side
cpdef enum:
    PHASE_DOWN = 0          # not connected; the backoff decides when to connect
    PHASE_CONNECTING
    PHASE_UP
