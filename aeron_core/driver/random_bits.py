"""Random numbers for the ids that a driver chooses: of the operating system, or of a simulation's own generator.

Not for secrets, which are never those of a simulation. The module `random` would double the time of these imports.
"""

from __future__ import annotations

import os
from collections.abc import Callable

RandomBits = Callable[[int], int]


def system_bits(count: int) -> int:
    """Return an integer of `count` random bits, at least 0."""
    return int.from_bytes(os.urandom((count + 7) // 8)) >> (-count % 8)


_source: RandomBits = system_bits


def random_bits(count: int) -> int:
    """Return an integer of `count` random bits, at least 0, from the current source."""
    return _source(count)


def use_random_bits(source: RandomBits) -> None:
    """Take the numbers of this process from `source` from now on: a simulation repeats them, by a seed."""
    global _source  # noqa: PLW0603 - one source for all drivers of a process, as of the module `random`
    _source = source
