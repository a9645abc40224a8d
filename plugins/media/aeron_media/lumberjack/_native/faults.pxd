# Why a connection cannot go on. Numbers are negative, so that a sink can answer with one; -1 is an exception's.

cpdef enum:
    NO_FAULT = 0
    WRONG_VERSION = -2          # neither '1' nor '2'
    WRONG_TYPE = -3             # a frame that the other end does not send
    EMPTY_EVENT = -4            # J of length 0
    EVENT_TOO_LONG = -5         # as it would be handed on
    FRAME_TOO_LONG = -6         # J or D
    TOO_MANY_PAIRS = -7         # of a D frame
    COMPRESSED_TOO_LONG = -8    # C
    INFLATED_TOO_LONG = -9      # what came out of one C
    RATIO_TOO_HIGH = -10        # what came out of one C, by what went in
    NESTED_TOO_DEEP = -11       # C within C
    BROKEN_COMPRESSION = -12    # no zlib stream, or a wrong check sum
    CUT_COMPRESSION = -13       # C ends before its zlib stream does
    CUT_FRAME = -14             # C ends within a frame
    BUDGET_SPENT = -15          # of all connections of the endpoint
    WINDOW_TOO_LARGE = -16      # for sinks: W
    EVENT_OUTSIDE_WINDOW = -17  # for sinks: more events than W had announced
    NO_JSON_OBJECT = -18        # for writers: a payload that no reader of events takes
    SINK_FAILED = -19           # for sinks: any other reason
