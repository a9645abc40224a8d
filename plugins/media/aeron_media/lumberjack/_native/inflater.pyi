"""See `inflater.pyx`."""

from typing import Final, final

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget

LIBRARY: Final[str]
INFLATE_MORE: Final[int]
INFLATE_FINISHED: Final[int]
INFLATE_BROKEN: Final[int]
PIECE_LENGTH: Final[int]
RATIO_FREE_LENGTH: Final[int]

@final
class Inflater:
    def __init__(self, budget: MemoryBudget) -> None: ...
    @property
    def used(self) -> int: ...
    @property
    def made(self) -> int: ...
    # C methods: only compiled modules see them.
    def is_open(self) -> bool: ...
    def open(self) -> int: ...
    def inflate(
        self, source: AtomicBuffer, offset: int, length: int, into: ByteQueue, max_made: int
    ) -> int: ...
    def close(self) -> int: ...
