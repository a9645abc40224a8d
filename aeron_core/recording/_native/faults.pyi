"""See `faults.pxd`."""

from typing import Final

NO_FAULT: Final[int]
CUT_SHORT: Final[int]
NO_FRAME: Final[int]
WRONG_LENGTH: Final[int]
WRONG_TYPE: Final[int]
WRONG_TERM_ID: Final[int]
WRONG_TERM_OFFSET: Final[int]
WRONG_SESSION_ID: Final[int]
WRONG_STREAM_ID: Final[int]
WRONG_CHECKSUM: Final[int]
