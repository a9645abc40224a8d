"""A parser with a sink that records its calls."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable

import pytest
from aeron_media._native.byte_queue import MemoryBudget
from aeron_media.lumberjack.codec.event_sink import PythonSink
from aeron_media.lumberjack.codec.frame_limits import FrameLimits
from aeron_media.lumberjack.codec.frame_parser import FrameParser
from aeron_media.lumberjack.fault_texts import describe_fault
from reading import Reading

from aeron_core._native.buffer import AtomicBuffer


class GuardedMemory:
    """Memory followed by an unreadable page: reading beyond its end crashes the process."""

    def __init__(self, length: int) -> None:
        self._length = -(-length // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, self._length + mmap.PAGESIZE)
        guard = ctypes.addressof(ctypes.c_char.from_buffer(self._map, self._length))
        library = ctypes.CDLL(None, use_errno=True)
        if library.mprotect(ctypes.c_void_p(guard), mmap.PAGESIZE, 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    def hold(self, data: bytes) -> AtomicBuffer:
        """Return `data` placed at the end of the memory, as far as it fits; valid until the next call."""
        if len(data) > self._length:
            return AtomicBuffer(data)
        begin = self._length - len(data)
        self._map[begin : self._length] = data
        return AtomicBuffer(memoryview(self._map)[begin : self._length])


GUARDED = GuardedMemory(1 << 20)


class Reader:
    """A connection: keeps unparsed bytes, as the caller of a parser must."""

    def __init__(self, budget: int = 1 << 28, **limits: int) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.space: int | None = None
        self.answer = 1
        self.budget = MemoryBudget(budget)
        self.parser = FrameParser(
            FrameLimits(**limits), PythonSink(self._on_window, self._on_event), self.budget
        )
        self.rest = b""
        self.most_used = 0

    def _take(self, call: tuple[object, ...]) -> int:
        self.most_used = max(self.most_used, self.budget.used)
        if self.space == 0:
            return 0
        if self.answer > 0:
            self.calls.append(call)
            if self.space is not None:
                self.space -= 1
        return self.answer

    def _on_window(self, version: int, count: int) -> int:
        return self._take(("window", version, count))

    def _on_event(self, version: int, sequence: int, payload: bytes) -> int:
        return self._take(("event", version, sequence, payload))

    def feed(self, data: bytes) -> int:
        """Parse the remaining bytes and `data`; return how many bytes were parsed."""
        self.rest += data
        done = self.parser.parse(GUARDED.hold(self.rest), 0, len(self.rest))
        assert 0 <= done <= len(self.rest)
        self.rest = self.rest[done:]
        self.most_used = max(self.most_used, self.budget.used)
        return done

    def feed_pieces(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            self.feed(piece)

    @property
    def fault(self) -> int:
        return self.parser.fault

    @property
    def text(self) -> tuple[str, str]:
        """The message of the fault and its detail."""
        return describe_fault(self.parser.fault, self.parser.fault_value, self.parser.fault_limit)


@pytest.fixture(scope="session")
def new_reader() -> type[Reader]:
    return Reader


@pytest.fixture
def reading(tmp_path):
    with Reading(tmp_path) as made:
        yield made
