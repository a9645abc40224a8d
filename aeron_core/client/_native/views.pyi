"""See `views.pyx`."""

from typing import final

from aeron_core._native.buffer import AtomicBuffer

@final
class ViewFactory:
    def __init__(self, buffer: AtomicBuffer) -> None: ...
    def view(self, offset: int, length: int) -> memoryview: ...
    def __call__(self, offset: int, length: int) -> memoryview: ...
