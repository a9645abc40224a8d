"""See `end_reasons.pxd`."""

from typing import Final

IDLE: Final[int]
UNFINISHED: Final[int]
NOT_READ: Final[int]
NO_IMAGE: Final[int]
ABANDONED: Final[int]
REJECTED: Final[int]
TOO_MANY: Final[int]
TOO_LARGE: Final[int]
TOO_MANY_OF_SOURCE: Final[int]
EVICTED: Final[int]
NOT_ACKNOWLEDGED: Final[int]
WRONG_ACK: Final[int]
CLOSED: Final[int]
NOT_CONNECTED: Final[int]
NO_PROGRESS: Final[int]
STALLED: Final[int]
UNSENT_ACK: Final[int]
