"""See `wire.pxd`."""

from typing import Final

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue

PROTOCOL_PAIR0: Final[int]
PROTOCOL_PAIR1: Final[int]
GREETING_LENGTH: Final[int]
GREETING_MAGIC: Final[int]
GREETING_PROTOCOL_OFFSET: Final[int]
GREETING_RESERVED_OFFSET: Final[int]
LENGTH_LENGTH: Final[int]
TYPE_LENGTH: Final[int]
TYPE_MESSAGE: Final[int]
HOPS_LENGTH: Final[int]
MAX_HOPS: Final[int]
DEFAULT_TTL: Final[int]

# C functions, visible to compiled modules only.
def get_u64(buffer: AtomicBuffer, offset: int) -> int: ...
def get_u32(buffer: AtomicBuffer, offset: int) -> int: ...
def get_u16(buffer: AtomicBuffer, offset: int) -> int: ...
def write_head(queue: ByteQueue, has_type: bool, payload_length: int, hops: int) -> None: ...
