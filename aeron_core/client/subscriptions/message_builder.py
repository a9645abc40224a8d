"""Reassembly of the fragments of one message; each must begin where the previous one ended."""

from __future__ import annotations

from aeron_core._native import wire
from aeron_core._native.buffer import AtomicBuffer
from aeron_core.client.subscriptions.header import Header

# Source: AERON_BUFFER_BUILDER_MIN_ALLOCATED_CAPACITY in aeron_fragment_assembler.c.
INITIAL_CAPACITY = 4096


class MessageBuilder:
    """The message of one session that is being reassembled. For assemblers.

    A longer one than `max_length` bytes is dropped: a sender that never ends its message must not fill the memory.
    """

    def __init__(self, max_length: int = wire.MAX_MESSAGE_LENGTH) -> None:
        self._max_length = max_length
        self._buffer = AtomicBuffer.allocate(INITIAL_CAPACITY)
        self._length = 0
        self._begin = 0
        self._expected = -1
        self._header: Header | None = None

    def begin(self, fragment: memoryview, header: Header) -> int:
        """Start a message with its first fragment, and drop the previous message; return 0."""
        self._length = 0
        self._header = header.copy()
        self._begin = header.position_before()
        self._expected = header.position_of()
        self._put(fragment)
        return 0

    def append(self, fragment: memoryview, header: Header) -> bool:
        """Append the next fragment; drop a message that has a gap, or is too long, and return False."""
        if self._expected < 0 or header.position_before() != self._expected:
            self.reset()
            return False
        self._expected = header.position_of()
        return self._put(fragment)

    def take_back(self, fragment: memoryview, header: Header) -> int:
        """Undo the last `append`, so that the same fragment can be appended again; return 0."""
        self._length -= len(fragment)
        self._expected = header.position_before()
        return 0

    def message(self) -> memoryview:
        """Return a read-only view of the message, which is valid until the next fragment is added."""
        return memoryview(self._buffer)[: self._length].toreadonly()

    def header(self) -> Header:
        """Return a copy of the first fragment's header, changed as if the message was one frame."""
        assert self._header is not None
        header = self._header.copy()
        header.complete(self._length, self._expected - self._begin)
        return header

    def reset(self) -> int:
        """Drop the message, so that `append` refuses fragments until `begin` is called; return 0."""
        self._length = 0
        self._expected = -1
        return 0

    def _put(self, fragment: memoryview) -> bool:
        length = len(fragment)
        if self._length + length > self._max_length:
            self._buffer = AtomicBuffer.allocate(INITIAL_CAPACITY)
            self.reset()
            return False
        self._reserve(self._length + length)
        self._buffer.put_bytes(self._length, fragment)
        self._length += length
        return True

    def _reserve(self, length: int) -> int:
        capacity = self._buffer.capacity
        if length <= capacity:
            return 0
        while capacity < length:
            capacity += capacity // 2
        # Use a new buffer: a program may have kept views of the old one, so its memory must not move.
        larger = AtomicBuffer.allocate(capacity)
        larger.copy_from(0, self._buffer, 0, self._length)
        self._buffer = larger
        return 0
