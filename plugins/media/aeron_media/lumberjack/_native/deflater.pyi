"""See `deflater.pyx`."""

from typing import Final, final

from aeron_core._native.buffer import AtomicBuffer
from aeron_media._native.byte_queue import ByteQueue, MemoryBudget

DEFLATE_DONE: Final[int]
DEFLATE_NO_MEMORY: Final[int]
DEFLATE_BROKEN: Final[int]
STAGED_LENGTH: Final[int]

@final
class Deflater:
    def __init__(self, level: int, budget: MemoryBudget) -> None: ...
    @property
    def level(self) -> int: ...
    def close(self) -> int: ...
    # C methods: only compiled modules see them.
    def start(self) -> int: ...
    def deflate(
        self, source: AtomicBuffer, offset: int, length: int, into: ByteQueue, is_last: bool
    ) -> int: ...
