# Reasons why a connection ended, and why a message was not sent. Never -1, which signals an exception.

# Ends of connections
cpdef enum:
    NO_REASON = 0             # the peer closed the connection, or the operating system reported an error
    NOT_SP = -20              # not a greeting of SP
    OTHER_PROTOCOL = -21
    SILENT = -22              # no greeting within the timeout
    NOT_CONNECTED = -23       # not connected within the timeout
    REFUSED_PEER = -24        # refused by this end, which has another peer
    REFUSED_BY_PEER = -25     # the peer closed the connection right after the greeting
    TOO_LONG = -26            # a message longer than max-message
    NO_MESSAGE = -27          # wrong message type on a Unix socket
    BUDGET_SPENT = -28
    TOO_MANY = -29            # more connections than allowed
    REJECTED = -30            # a subscriber rejected the image
    TOO_MANY_OF_SOURCE = -31  # more connections of one source than allowed
    EVICTED = -32             # messages of a disconnected peer were not consumed within EVICTION_NS
    UNFINISHED = -33          # the rest of a message did not arrive within the timeout
    EVICTED_SILENT = -34      # no greeting within SILENCE_NS, and another connection needed the slot
    VANISHED = -35            # nothing arrived from its host within peer-timeout

# Messages that are not sent
cpdef enum:
    NO_PEER = -40
    PEER_FULL = -41
    MESSAGE_TOO_LONG = -42    # longer than max-message of this end
    HOPS_SPENT = -43          # one more hop does not fit into the header
    UNSENT = -44              # bytes that were queued for a peer that disconnected
    CLOSED_WITH = -45         # bytes that were queued for a peer when the socket was closed
