"""See `limits.pxd`."""

from typing import Final

MAX_STREAMS: Final[int]
NO_INDEX: Final[int]
REFRESH_INTERVAL_NS: Final[int]
JOIN_TIMEOUT_NS: Final[int]
RETRY_INTERVAL_NS: Final[int]
MAX_FEEDBACK_RECEIVES: Final[int]
