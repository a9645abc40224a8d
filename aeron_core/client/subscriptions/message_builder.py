"""Puts the fragments of one message together, as long as each begins where the one before it ended."""

from __future__ import annotations

from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.subscriptions.header import Header

# Source: AERON_BUFFER_BUILDER_INIT_MIN_CAPACITY.
INITIAL_CAPACITY = 4096


class MessageBuilder:
    """Of one session. For assemblers."""

    def __init__(self) -> None:
        self._buffer = AtomicBuffer.allocate(INITIAL_CAPACITY)
        self._length = 0
        self._begin = 0
        self._expected = -1
        self._header: Header | None = None

    def begin(self, fragment: memoryview, header: Header) -> int:
        """Take the first fragment; forget what was there."""
        self._length = 0
        self._header = header.copy()
        self._begin = header.position_before()
        self._expected = header.position_of()
        return self._put(fragment)

    def append(self, fragment: memoryview, header: Header) -> bool:
        """Take the next fragment; return False, and forget the message, when it is not the next."""
        if self._expected < 0 or header.position_before() != self._expected:
            self.reset()
            return False
        self._expected = header.position_of()
        self._put(fragment)
        return True

    def take_back(self, fragment: memoryview, header: Header) -> int:
        """Undo the last `append`, so that the same fragment can come again."""
        self._length -= len(fragment)
        self._expected = header.position_before()
        return 0

    def message(self) -> memoryview:
        """Return the message, which is valid until the next fragment is taken."""
        return memoryview(self._buffer)[: self._length].toreadonly()

    def header(self) -> Header:
        """Return the header of the message: that of its first fragment, as if it were the only one."""
        assert self._header is not None
        header = self._header.copy()
        header.complete(self._length, self._expected - self._begin)
        return header

    def reset(self) -> int:
        """Forget the message."""
        self._length = 0
        self._expected = -1
        return 0

    def _put(self, fragment: memoryview) -> int:
        length = len(fragment)
        self._reserve(self._length + length)
        self._buffer.put_bytes(self._length, fragment)
        self._length += length
        return 0

    def _reserve(self, length: int) -> int:
        capacity = self._buffer.capacity
        if length <= capacity:
            return 0
        while capacity < length:
            capacity += capacity // 2
        # A new buffer: a view of the old one that somebody kept stays what it was.
        larger = AtomicBuffer.allocate(capacity)
        larger.copy_from(0, self._buffer, 0, self._length)
        self._buffer = larger
        return 0
