# Limits of image feeds and UDP endpoints, all invented; durations are nanoseconds.

cpdef enum:
    MAX_STREAMS = 16                       # streams per connection
    NO_INDEX = -2                          # not -1, which signals an exception
    REFRESH_INTERVAL_NS = 1000000000       # between two checks for new subscribed streams
    JOIN_TIMEOUT_NS = 5000000000           # maximum wait for the image of a new stream, which delays the other streams
    RETRY_INTERVAL_NS = 60000000000        # delay after an image could not be created
    # Receive calls of a poll for status messages. With 4 slots each, those of two phases of streams, see
    # STREAMS_PER_PHASE.
    MAX_FEEDBACK_RECEIVES = 32
