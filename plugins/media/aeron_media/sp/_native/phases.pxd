# Where a connection is in its life, and why it ended. Durations are nanoseconds, lengths bytes.

cpdef enum:
    PHASE_FREE = 0          # no connection
    PHASE_CONNECTING
    PHASE_GREETING          # the greetings are on their way
    PHASE_GREETED           # both have come: the socket says whether it takes the peer
    PHASE_UP
    PHASE_DRAINING          # the connection is gone, what has come of it is still to be taken
    PHASE_GONE              # nothing is left

cpdef enum:
    NO_REASON = 0           # the peer's own wish, or what the operating system said
    NOT_SP = -20            # the greeting is none
    OTHER_PROTOCOL = -21
    SILENT = -22            # no greeting in time
    NOT_CONNECTED = -23     # in time
    REFUSED_PEER = -24      # by us: there is another
    REFUSED_BY_PEER = -25   # it closed right after the greeting
    TOO_LONG = -26          # a message beyond max-message
    NO_MESSAGE = -27        # a wrong type before a length
    BUDGET_SPENT = -28
    TOO_MANY = -29          # connections
    REJECTED = -30          # by a subscriber
    EVICTED = -32           # nobody took what it had sent
    UNFINISHED = -33        # a message was begun and not gone on with
    # Of messages, not of connections
    NO_PEER = -40
    PEER_FULL = -41
    MESSAGE_TOO_LONG = -42  # for max-message of this end
    HOPS_SPENT = -43        # the next would be more than the header holds
    UNSENT = -44            # bytes that were queued for a peer that is gone
    CLOSED_WITH = -45       # bytes that were queued for a peer when the socket was closed

cpdef enum:
    READ_LENGTH = 65504              # of one receive call, unless a message is longer; with a lead, 64 KiB
    LONG_READ_LENGTH = 262112        # after one that was filled
    TURN_LENGTH = 1048576            # that one peer may bring before the next has its turn
    DRAFT_LENGTH = 65536             # that is put together for one send call
    BODIES_LENGTH = 262144           # that are sent with it out of the log
    DIRECT_LENGTH = 8192             # from which on a message goes without a copy, out of the log or into it
    ROUNDS_PER_TURN = 16             # send calls
    MESSAGES_PER_TURN = 4096
    ACCEPTS_PER_TURN = 16
    SWEEP_INTERVAL_NS = 10000000     # between two updates of counters
    REFUSAL_NS = 1000000000          # for which a close after the greeting counts as a refusal
    CONFIRMATION_NS = 250000000      # after which a peer that has not closed is taken to have accepted us
    STARVED_NS = 10000000000         # for which a peer may wait for memory
    EVICTION_NS = 30000000000        # for which what nobody takes is kept of a peer that is gone
    CLOSING_LENGTH = 16777216        # read and thrown away at close, so that the kernel delivers what was sent
