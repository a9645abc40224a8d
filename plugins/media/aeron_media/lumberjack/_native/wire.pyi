"""See `wire.pxd`."""

from typing import Final

from aeron_core._native.buffer import AtomicBuffer

VERSION_1: Final[int]
VERSION_2: Final[int]
TYPE_OFFSET: Final[int]
NUMBER_OFFSET: Final[int]
NUMBER_LENGTH: Final[int]
SHORT_FRAME_LENGTH: Final[int]
TYPE_ACK: Final[int]
TYPE_COMPRESSED: Final[int]
TYPE_DATA: Final[int]
TYPE_JSON: Final[int]
TYPE_WINDOW: Final[int]
JSON_LENGTH_OFFSET: Final[int]
JSON_PAYLOAD_OFFSET: Final[int]
PAIR_COUNT_OFFSET: Final[int]
PAIRS_OFFSET: Final[int]
STRING_LENGTH_LENGTH: Final[int]
WRAPPING_LENGTH: Final[int]
WRAPPING_END_LENGTH: Final[int]

# C functions: only compiled modules see them.
def get_u32(buffer: AtomicBuffer, offset: int) -> int: ...
def put_u32(buffer: AtomicBuffer, offset: int, value: int) -> int: ...
def is_blank(value: int) -> bool: ...
