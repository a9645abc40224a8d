# Protocol errors and exceeded limits. Negative, because functions that return one otherwise return 0, 1 or a length;
# never -1, which signals an exception.

cpdef enum:
    NO_FAULT = 0
    WRONG_VERSION = -2          # neither '1' nor '2'
    WRONG_TYPE = -3             # a frame that this side never receives
    EMPTY_EVENT = -4            # a J frame of length 0
    EVENT_TOO_LONG = -5         # an event beyond max-event, or longer than a message of the image may be
    FRAME_TOO_LONG = -6         # a J or D frame beyond max-frame
    TOO_MANY_PAIRS = -7         # a D frame beyond max-pairs
    COMPRESSED_TOO_LONG = -8    # a C frame beyond max-compressed
    INFLATED_TOO_LONG = -9      # output of one C frame beyond max-inflated
    RATIO_TOO_HIGH = -10        # output of one C frame divided by its length beyond max-ratio
    NESTED_TOO_DEEP = -11       # a C frame within too many C frames
    BROKEN_COMPRESSION = -12    # not a zlib stream, or a wrong checksum
    CUT_COMPRESSION = -13       # a C frame ends before its zlib stream
    CUT_FRAME = -14             # a C frame ends within another frame
    BUDGET_SPENT = -15          # memory of all connections of the endpoint is exhausted
    WINDOW_TOO_LARGE = -16      # returned by a sink: W announces too many events
    EVENT_OUTSIDE_WINDOW = -17  # returned by a sink: more events than W announced
    NO_JSON_OBJECT = -18        # set by a writer: no reader accepts the payload as an event
    SINK_FAILED = -19           # returned by a sink: any other reason
