# Limits and intervals that no URI parameter sets; all are invented. Durations are nanoseconds, lengths bytes.

cpdef enum:
    READ_LENGTH = 65504           # length of one receive call, unless a message is longer; 64 KiB with the lead
    LONG_READ_LENGTH = 262112     # length of a receive call after one that filled its buffer
    TURN_LENGTH = 1048576         # bytes read from one peer per turn
    DRAFT_LENGTH = 65536          # bytes copied for one send call
    BODIES_LENGTH = 262144        # bytes sent by the same call directly from the log
    DIRECT_LENGTH = 8192          # messages of at least this length are not copied, in both directions
    ROUNDS_PER_TURN = 16          # send calls of one peer per turn
    MESSAGES_PER_TURN = 4096
    ACCEPTS_PER_TURN = 16
    SWEEP_INTERVAL_NS = 10000000  # between two updates of the counters
    REFUSAL_NS = 1000000000       # a close this soon after the greeting counts as a refusal
    CONFIRMATION_NS = 250000000   # a peer that has not closed after this time has accepted this end
    STARVED_NS = 10000000000      # maximum wait of a peer for memory
    SILENCE_NS = 1000000000       # a peer greets at once: a silent connection may be evicted after this time
    EVICTION_NS = 30000000000     # time that unconsumed messages of a disconnected peer are kept
    CLOSING_LENGTH = 16777216     # bytes read and dropped at close, so that the kernel delivers what was sent
