# Reasons why a connection ended, in addition to `faults`; the two ranges are disjoint.

# Reader side
cpdef enum:
    IDLE = -40              # received nothing while no acknowledgement was due
    UNFINISHED = -41        # a window or frame was begun and not continued
    NOT_READ = -42          # the peer does not read its acknowledgements
    NO_IMAGE = -43          # no subscription takes its events
    ABANDONED = -44         # all subscriptions that took its events are gone
    REJECTED = -45          # a subscriber rejected the image
    TOO_MANY = -46          # beyond the maximum number of connections
    TOO_LARGE = -47         # a frame that exceeds the memory budget of all connections

# Writer side
cpdef enum:
    NOT_ACKNOWLEDGED = -50  # no acknowledgement within the timeout
    WRONG_ACK = -51         # of more events than were sent, or of another version
    CLOSED = -52            # by the reader
    NOT_CONNECTED = -53     # within the timeout
    NO_PROGRESS = -54       # keep-alives alone for longer than the progress timeout
    STALLED = -55           # the same without a progress timeout: reported, and the connection stays open
