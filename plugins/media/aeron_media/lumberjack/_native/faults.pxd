# Protocol errors and exceeded limits that end a connection. Negative, because a sink can return one; -1 signals an
# exception.

cpdef enum:
    NO_FAULT = 0
    WRONG_VERSION = -2          # neither '1' nor '2'
    WRONG_TYPE = -3             # a frame that this side never receives
    EMPTY_EVENT = -4            # J of length 0
    EVENT_TOO_LONG = -5         # as a message
    FRAME_TOO_LONG = -6         # J or D
    TOO_MANY_PAIRS = -7         # of a D frame
    COMPRESSED_TOO_LONG = -8    # C
    INFLATED_TOO_LONG = -9      # output of one C frame
    RATIO_TOO_HIGH = -10        # output of one C frame divided by its length
    NESTED_TOO_DEEP = -11       # C within C
    BROKEN_COMPRESSION = -12    # not a zlib stream, or a wrong check sum
    CUT_COMPRESSION = -13       # a C frame ends before its zlib stream
    CUT_FRAME = -14             # a C frame ends within another frame
    BUDGET_SPENT = -15          # memory of all connections of the endpoint
    WINDOW_TOO_LARGE = -16      # for sinks: W
    EVENT_OUTSIDE_WINDOW = -17  # for sinks: more events than W announced
    NO_JSON_OBJECT = -18        # for writers: a payload that no reader accepts as an event
    SINK_FAILED = -19           # for sinks: any other reason
