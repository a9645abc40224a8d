# What may be wrong with a frame of a recording.

cpdef enum:
    NO_FAULT = 0
    CUT_SHORT          # it goes on behind what was scanned
    NO_FRAME           # zeros
    WRONG_LENGTH
    WRONG_TYPE
    WRONG_TERM_ID
    WRONG_TERM_OFFSET
    WRONG_SESSION_ID
    WRONG_STREAM_ID
