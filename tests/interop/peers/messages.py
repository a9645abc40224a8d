"""The messages of interop tests, for both sides; runs under any Python from 3.11 on."""

from __future__ import annotations

import hashlib
import sys
from functools import cache

_SEED = bytes(range(256)) * 80


def message(index: int) -> bytes:
    """Return message `index`: 0 to about 1000 bytes, each hundredth long enough to be fragmented."""
    length = 2000 + index * 31 % 18000 if index % 100 == 99 else index * 7919 % 997
    start = index % 256
    return (index.to_bytes(8, "little") + _SEED[start : start + length])[: max(length, 0)]


class Checksum:
    """Digest over messages and their boundaries."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, data: bytes) -> None:
        """Add one message."""
        self._hash.update(len(data).to_bytes(4, "little"))
        self._hash.update(data)

    def hexdigest(self) -> str:
        """Return the digest of all messages so far."""
        return self._hash.hexdigest()


@cache
def expected_checksum(count: int) -> str:
    """Return the digest of the first `count` messages."""
    checksum = Checksum()
    for index in range(count):
        checksum.add(message(index))
    return checksum.hexdigest()


def print_line(line: str) -> None:
    """Print a line atomically from any thread: `print` writes the line end separately."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
