"""See `faults.pxd`."""

from typing import Final

NO_FAULT: Final[int]
WRONG_VERSION: Final[int]
WRONG_TYPE: Final[int]
EMPTY_EVENT: Final[int]
EVENT_TOO_LONG: Final[int]
FRAME_TOO_LONG: Final[int]
TOO_MANY_PAIRS: Final[int]
COMPRESSED_TOO_LONG: Final[int]
INFLATED_TOO_LONG: Final[int]
RATIO_TOO_HIGH: Final[int]
NESTED_TOO_DEEP: Final[int]
BROKEN_COMPRESSION: Final[int]
CUT_COMPRESSION: Final[int]
CUT_FRAME: Final[int]
BUDGET_SPENT: Final[int]
WINDOW_TOO_LARGE: Final[int]
EVENT_OUTSIDE_WINDOW: Final[int]
NO_JSON_OBJECT: Final[int]
SINK_FAILED: Final[int]
