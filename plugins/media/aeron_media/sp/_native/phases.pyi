"""See `phases.pxd`."""

from typing import Final

PHASE_FREE: Final[int]
PHASE_CONNECTING: Final[int]
PHASE_GREETING: Final[int]
PHASE_GREETED: Final[int]
PHASE_UP: Final[int]
PHASE_DRAINING: Final[int]
PHASE_ENDED: Final[int]
