"""See `bounds.pxd`."""

from typing import Final

MAX_QUEUED_ACKS: Final[int]
READ_LENGTH: Final[int]
LONG_READ_LENGTH: Final[int]
TURN_LENGTH: Final[int]
ACCEPTS_PER_TURN: Final[int]
WINDOWS_PER_TURN: Final[int]
OUTPUT_LENGTH: Final[int]
LINGER_NS: Final[int]
LINGER_LENGTH: Final[int]
IMAGE_TIMEOUT_NS: Final[int]
SEARCH_INTERVAL_NS: Final[int]
EVICTION_INTERVAL_NS: Final[int]
QUIET_NS: Final[int]
ACKS_LENGTH: Final[int]
ACK_INTERVAL_NS: Final[int]
TRAILER_LENGTH: Final[int]
PEER_GRACE_NS: Final[int]
MEMORY_PAUSE_NS: Final[int]
IDLE_MEMORY_NS: Final[int]
STALL_NS: Final[int]
