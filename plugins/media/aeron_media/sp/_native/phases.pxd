# Phases of a connection, in their order.

cpdef enum:
    PHASE_FREE = 0          # no connection
    PHASE_CONNECTING
    PHASE_GREETING          # waiting for the greetings
    PHASE_GREETED           # both greetings were exchanged: the socket decides whether to admit the peer
    PHASE_UP
    PHASE_DRAINING          # the connection is closed, its received messages are not consumed yet
    PHASE_ENDED             # the connection is closed, its messages are consumed
