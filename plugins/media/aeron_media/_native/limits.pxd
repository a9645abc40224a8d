# Numbers of feeds; durations are nanoseconds.

cpdef enum:
    MAX_STREAMS = 16                       # that one connection feeds
    NO_INDEX = -2                          # not -1, too
    REFRESH_INTERVAL_NS = 1000000000       # between two looks for streams that somebody subscribed to since
    JOIN_TIMEOUT_NS = 5000000000           # for the image of one of them, while the others wait for it
    RETRY_INTERVAL_NS = 60000000000        # after an image that could not be made
