"""See `phases.pxd`."""

from typing import Final

PHASE_FREE: Final[int]
PHASE_OPEN: Final[int]
PHASE_FED: Final[int]
PHASE_ENDING: Final[int]
PHASE_LINGERING: Final[int]
PHASE_DOWN: Final[int]
PHASE_CONNECTING: Final[int]
PHASE_UP: Final[int]
