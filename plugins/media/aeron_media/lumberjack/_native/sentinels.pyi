"""See `sentinels.pxd`."""

from typing import Final

DONE: Final[int]
LOST: Final[int]
NOWHERE: Final[int]
UNFINISHED_MESSAGE: Final[int]
WINDOW_FULL: Final[int]
OUT_OF_MEMORY: Final[int]
