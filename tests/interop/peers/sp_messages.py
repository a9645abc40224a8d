"""The messages of SP tests, for both sides; runs under any Python from 3.11 on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

LONG = 65_536
_COUNTED = bytes(range(256)) * 2


def length_of(index: int) -> int:
    """Return the length of message `index`: 1 to 1009 bytes, each hundredth 64 KiB."""
    return LONG if index % 100 == 99 else 1 + index * 7919 % 1009


def body(index: int, length: int = 0) -> bytes:
    """Return message `index`, of `length` bytes if not zero: bytes that count up from `index`."""
    length = length or length_of(index)
    first = index % 256
    rotated = _COUNTED[first : first + 256]
    return (rotated * (length // 256 + 1))[:length]


def checksum(bodies: Iterable[bytes]) -> str:
    """Return a digest over messages and their boundaries."""
    digest = hashlib.sha256()
    for each in bodies:
        digest.update(len(each).to_bytes(4, "little"))
        digest.update(each)
    return digest.hexdigest()


def checksum_of(count: int, first: int = 0, length: int = 0) -> str:
    """Return the digest of `count` messages from `first` on."""
    return checksum(body(index, length) for index in range(first, first + count))
