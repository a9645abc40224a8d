"""See `integers.pyx`."""

from typing import final

@final
class ReusedInt:
    def __init__(self) -> None: ...
    def __call__(self, value: int) -> int: ...
    # A C method: only compiled modules can call it.
    def of(self, value: int) -> int: ...
