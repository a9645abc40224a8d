# Limits and intervals that no URI parameter sets; invented unless a source is given. Durations are nanoseconds, lengths
# bytes.

# Both sides
cpdef enum:
    MAX_QUEUED_ACKS = 64             # unacknowledged windows of one connection

# Reader side
cpdef enum:
    READ_LENGTH = 65536              # length of one receive call
    LONG_READ_LENGTH = 262144        # maximum length of a receive call, after calls that filled their buffer
    TURN_LENGTH = 1048576            # bytes received from one connection before the next one is served
    ACCEPTS_PER_TURN = 16
    WINDOWS_PER_TURN = 1024
    OUTPUT_LENGTH = 768              # buffer of acknowledgements that wait for the socket
    LINGER_NS = 2000000000           # duration of PHASE_LINGERING
    LINGER_LENGTH = 16777216         # maximum of bytes discarded in PHASE_LINGERING
    IMAGE_TIMEOUT_NS = 10000000000   # wait for the images of a connection
    SEARCH_INTERVAL_NS = 100000000   # after a search for a connection to evict that found none
    EVICTION_INTERVAL_NS = 20000000  # between two evictions: all 256 connections take one eviction timeout, as defaults
    QUIET_NS = 250000000             # silence after which part of a version 1 window is acknowledged

# Writer side
cpdef enum:
    ACKS_LENGTH = 4096               # length of one receive call
    ACK_INTERVAL_NS = 1000000        # between two receive calls while no acknowledgement is due
    # Bytes at the end of a compressed window without which a reader can have all events: the end of the zlib stream and
    # its checksum.
    TRAILER_LENGTH = 64
    PEER_GRACE_NS = 5000000000       # a lost reader still counts as a peer for this long
    MEMORY_PAUSE_NS = 10000000       # delay before a window that lacked memory is encoded again
    ALONE_ATTEMPTS = 3               # of an event that lacks memory although no other connection holds any
    IDLE_MEMORY_NS = 1000000000      # memory is kept this long for the next window
    # Time without an acknowledged event after which a reader is reported as stalled.
    # Source: deadlock.go of libbeat, logstashDeadlockTimeout.
    STALL_NS = 300000000000
