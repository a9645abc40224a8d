"""See `sums.pyx`."""

from typing import Final

from aeron_core._native.buffer import AtomicBuffer

ENTRY_LENGTH: Final[int]
ENTRY_END_POSITION_OFFSET: Final[int]
ENTRY_CRC32_OFFSET: Final[int]
NO_CHECKSUM: Final[int]
CRC32: Final[int]
CRC32C: Final[int]

def crc32(data: AtomicBuffer, begin: int, length: int, value: int) -> int: ...
def crc32_by_tables(data: AtomicBuffer, begin: int, length: int, value: int) -> int: ...
def crc32c(data: AtomicBuffer, begin: int, length: int) -> int: ...
