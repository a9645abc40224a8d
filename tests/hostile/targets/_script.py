"""Inputs that are several values: a fuzzer changes one of them without moving the others."""

from __future__ import annotations

from collections.abc import Iterator


class Script:
    """Reader of the values in an input; after its end, numbers are 0 and bytes are empty."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._data)

    def take(self, length: int) -> bytes:
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def number(self, length: int = 1) -> int:
        return int.from_bytes(self.take(length), "little")

    def block(self) -> bytes:
        """Return bytes that follow their length, a little-endian uint16."""
        return self.take(self.number(2))

    def blocks(self, limit: int) -> Iterator[tuple[int, bytes]]:
        """Yield up to `limit` pairs of an operation, one byte, and a block."""
        for _ in range(limit):
            if self.is_done:
                return
            yield self.number(), self.block()


def block(data: bytes, operation: int | None = None) -> bytes:
    """Return a block as a script reads it, after its operation if it has one."""
    head = b"" if operation is None else bytes([operation])
    return head + len(data).to_bytes(2, "little") + data
