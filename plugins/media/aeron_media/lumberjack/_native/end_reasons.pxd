# Reasons why a connection ended, in addition to `faults`; the two ranges are disjoint.

# Reader side
cpdef enum:
    IDLE = -40              # no event arrived while no acknowledgement was due
    UNFINISHED = -41        # the rest of a window or frame did not arrive in time
    NOT_READ = -42          # the peer does not read its acknowledgements
    NO_IMAGE = -43          # no subscription takes its events
    ABANDONED = -44         # all subscriptions that took its events are gone
    REJECTED = -45          # a subscriber rejected the image
    TOO_MANY = -46          # more connections than allowed
    TOO_LARGE = -47         # a frame exceeds the memory budget of all connections
    TOO_MANY_OF_SOURCE = -48  # more connections of one source than allowed
    EVICTED = -49           # without events for a while, and another connection needed the slot

# Writer side
cpdef enum:
    NOT_ACKNOWLEDGED = -50  # no acknowledgement within the timeout
    WRONG_ACK = -51         # an acknowledgement of more events than the oldest window has, or of version 1
    CLOSED = -52            # the reader closed the connection
    NOT_CONNECTED = -53     # not connected within the timeout
    NO_PROGRESS = -54       # only keep-alives for longer than the progress timeout
    UNSENT_ACK = -56        # an acknowledgement of a window that is not sent yet
    STALLED = -55           # only keep-alives, without a progress timeout: reported, and the connection stays open
