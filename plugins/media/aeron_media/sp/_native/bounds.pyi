"""See `bounds.pxd`."""

from typing import Final

READ_LENGTH: Final[int]
LONG_READ_LENGTH: Final[int]
TURN_LENGTH: Final[int]
DRAFT_LENGTH: Final[int]
BODIES_LENGTH: Final[int]
DIRECT_LENGTH: Final[int]
ROUNDS_PER_TURN: Final[int]
MESSAGES_PER_TURN: Final[int]
ACCEPTS_PER_TURN: Final[int]
SWEEP_INTERVAL_NS: Final[int]
REFUSAL_NS: Final[int]
CONFIRMATION_NS: Final[int]
STARVED_NS: Final[int]
SILENCE_NS: Final[int]
EVICTION_NS: Final[int]
CLOSING_LENGTH: Final[int]
