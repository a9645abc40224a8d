"""See `pointers.pyx`: used by compiled modules only."""

from typing import final

@final
class PointerList:
    @property
    def size(self) -> int: ...

@final
class PointerMap:
    @property
    def size(self) -> int: ...
