# Special values of an owner, an index or a length. The negative ones differ from one another, from `faults` and from
# `end_reasons`; none is -1, with which a C function reports an exception.

# Owner of a part of a log, if it is not a connection; connections are numbered from 0
cpdef enum:
    DONE = -60              # acknowledged, or never to be sent
    LOST = -61              # to be sent again

# Index of a part of a log
cpdef enum:
    NOWHERE = -62           # no part of the log matches

# Results of `MessageEncoder.add` instead of the length of a message
cpdef enum:
    UNFINISHED_MESSAGE = 0  # no complete message at this position
    WINDOW_FULL = -63       # the message does not fit this window
    OUT_OF_MEMORY = -64     # the memory budget was exhausted before the message was encoded
