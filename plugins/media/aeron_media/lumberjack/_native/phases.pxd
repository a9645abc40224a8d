# Phases of a connection. Order matters: a reader parses its input up to and including PHASE_FED.

# Reader side: phases of a slot. There is one slot more than connections that max-connections= permits.
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
