# Phases of a connection, reasons for its end, and limits, which are invented. Durations are nanoseconds, lengths bytes.

cpdef enum:
    PHASE_FREE = 0          # no connection
    PHASE_CONNECTING
    PHASE_GREETING          # waiting for the greetings
    PHASE_GREETED           # both greetings were exchanged: the socket decides whether to admit the peer
    PHASE_UP
    PHASE_DRAINING          # the connection is closed, its received messages are not consumed yet
    PHASE_ENDED              # the connection is closed, its messages are consumed

cpdef enum:
    NO_REASON = 0           # the peer closed the connection, or the operating system reported an error
    NOT_SP = -20            # not a greeting of SP
    OTHER_PROTOCOL = -21
    SILENT = -22            # no greeting within the timeout
    NOT_CONNECTED = -23     # not connected within the timeout
    REFUSED_PEER = -24      # refused by this end, which has another peer
    REFUSED_BY_PEER = -25   # the peer closed the connection right after the greeting
    TOO_LONG = -26          # a message longer than max-message
    NO_MESSAGE = -27        # wrong message type on a Unix socket
    BUDGET_SPENT = -28
    TOO_MANY = -29          # more connections than allowed
    REJECTED = -30          # a subscriber rejected the image
    TOO_MANY_OF_SOURCE = -31  # more connections of one source than allowed
    EVICTED = -32           # messages of a disconnected peer were not consumed within EVICTION_NS
    UNFINISHED = -33        # the rest of a message did not arrive within the timeout
    EVICTED_SILENT = -34    # no greeting within SILENCE_NS, and another connection needed the slot
    # Reasons why a message is not sent
    NO_PEER = -40
    PEER_FULL = -41
    MESSAGE_TOO_LONG = -42  # longer than max-message of this end
    HOPS_SPENT = -43        # one more hop does not fit into the header
    UNSENT = -44            # bytes that were queued for a peer that disconnected
    CLOSED_WITH = -45       # bytes that were queued for a peer when the socket was closed

cpdef enum:
    READ_LENGTH = 65504     # length of one receive call, unless a message is longer; 64 KiB with the lead
    LONG_READ_LENGTH = 262112  # length of a receive call after one that filled its buffer
    TURN_LENGTH = 1048576            # bytes read from one peer per turn
    DRAFT_LENGTH = 65536             # bytes copied for one send call
    BODIES_LENGTH = 262144  # bytes sent by the same call directly from the log
    DIRECT_LENGTH = 8192             # messages of at least this length are not copied, in both directions
    ROUNDS_PER_TURN = 16             # send calls of one peer per turn
    MESSAGES_PER_TURN = 4096
    ACCEPTS_PER_TURN = 16
    SWEEP_INTERVAL_NS = 10000000     # between two updates of the counters
    REFUSAL_NS = 1000000000          # a close this soon after the greeting counts as a refusal
    CONFIRMATION_NS = 250000000      # a peer that has not closed after this time has accepted this end
    STARVED_NS = 10000000000  # maximum wait of a peer for memory
    SILENCE_NS = 1000000000  # a peer sends its greeting at once: a silent connection may be evicted after this time
    EVICTION_NS = 30000000000  # time that unconsumed messages of a disconnected peer are kept
    CLOSING_LENGTH = 16777216  # bytes read and dropped at close, so that the kernel delivers what was sent
