"""See `xorshift.pyx`."""

from typing import Final, final

RANDOM_BITS: Final[int]

@final
class Xorshift:
    def __init__(self, seed: int) -> None: ...
    # A C method: only compiled modules can call it.
    def next(self) -> int: ...
