# Where a connection is in its life, and why it ended besides `faults`. Durations are nanoseconds, lengths bytes.

cpdef enum:
    PHASE_FREE = 0          # no connection
    PHASE_OPEN              # nothing has come yet, which is all that a health check does
    PHASE_FED               # what comes goes to images
    PHASE_ENDING            # nothing more is read; acknowledgements are still owed
    PHASE_LINGERING         # all was said; what still comes is thrown away, so that the peer gets the last of it

cpdef enum:
    IDLE = -40              # nothing came, and nothing was owed
    UNFINISHED = -41        # a window or frame was begun and not gone on with
    NOT_READ = -42          # the peer does not read its acknowledgements
    NO_IMAGE = -43          # nobody takes what it sends
    ABANDONED = -44         # those who took it are gone
    REJECTED = -45          # a subscriber rejected the image
    TOO_MANY = -46          # connections
    TOO_LARGE = -47         # a frame for the memory that all connections have

# Of writers
cpdef enum:
    PHASE_DOWN = 0          # no connection; the next attempt comes at a certain time
    PHASE_CONNECTING
    PHASE_UP

cpdef enum:
    NOT_ACKNOWLEDGED = -50  # for too long
    WRONG_ACK = -51         # of more than was sent, or of another version
    CLOSED = -52            # by the reader
    NOT_CONNECTED = -53     # in time
    NO_PROGRESS = -54       # for too long, though there are signs of life
    STALLED = -55           # the same, and it is waited for all the same

# Of parts of a log that are no connection's
cpdef enum:
    DONE = -3               # acknowledged, or nothing that is sent
    LOST = -4               # to be sent again
    NOWHERE = -2            # there is none

cpdef enum:
    UNFINISHED_MESSAGE = 0           # in place of the bytes of a message: nothing more is there
    WINDOW_FULL = -2                 # the same: it goes into the next window
    OUT_OF_MEMORY = -3               # the same: and the window is lost
    ACKS_LENGTH = 4096               # of one receive call
    PEER_GRACE_NS = 5000000000       # for which a peer that was lost counts as one
    ACK_INTERVAL_NS = 1000000        # between two looks for acknowledgements while none is owed
    MEMORY_PAUSE_NS = 10000000       # before a window that no memory was left for is tried again
    # Without progress, before that is told. Source: deadlock.go of libbeat, logstashDeadlockTimeout.
    STALL_NS = 300000000000
    IDLE_MEMORY_NS = 1000000000      # for which memory is kept for the next window

cpdef enum:
    MAX_OWED = 64                    # windows that a connection may have unacknowledged
    READ_LENGTH = 65536              # of one receive call
    LONG_READ_LENGTH = 262144        # after others that were filled
    TURN_LENGTH = 1048576            # that one connection may bring before the next has its turn
    ACCEPTS_PER_TURN = 16
    OUTPUT_LENGTH = 768              # of acknowledgements that wait to be sent
    WINDOWS_PER_TURN = 1024
    LINGER_NS = 2000000000
    LINGER_LENGTH = 16777216
    IMAGE_TIMEOUT_NS = 10000000000
    QUIET_NS = 250000000             # without an event, before a v1 window is acknowledged in part
    SWEEP_INTERVAL_NS = 100000000    # between two looks at deadlines
