"""See `payload.pyx`: its methods are for compiled modules, which check the types themselves."""

from typing import Any, final

from aeron_core._native.buffer import AtomicBuffer

@final
class Payload:
    buffer: AtomicBuffer
    def borrow(self, data: Any) -> int: ...
    def give_back(self) -> int: ...
