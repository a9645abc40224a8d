# Faults of a frame of a recording, as FrameScanner reports them.

cpdef enum:
    NO_FAULT = 0
    CUT_SHORT          # the frame continues after the scanned bytes
    NO_FRAME           # zeros
    WRONG_LENGTH
    WRONG_TYPE
    WRONG_TERM_ID
    WRONG_TERM_OFFSET
    WRONG_SESSION_ID
    WRONG_STREAM_ID
    WRONG_CHECKSUM
