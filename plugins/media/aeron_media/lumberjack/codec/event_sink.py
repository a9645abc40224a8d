"""Where the frames of a writer go: what a parser hands windows and events to."""

from __future__ import annotations

from collections.abc import Callable

import cython

from aeron_core._native.buffer import AtomicBuffer


class EventSink:
    """Takes windows and events in the order in which they come; runs on the parser's thread, without the GIL.

    Both methods return 1 for what was taken and 0 where there is no room: the parser then keeps its place, and
    offers the same again. A negative number is one of `faults` and ends the connection; `fault_limit` then says what
    would have been allowed. `version` is that of the frame, '1' or '2' as a byte; counts and sequence numbers have 32
    bits without a sign.
    """

    fault_limit: int

    def on_window(self, version: int, count: int) -> int:
        """Take the beginning of a window of `count` events."""
        raise NotImplementedError

    def on_event(self, version: int, sequence: int, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Take the `length` bytes of an event at `offset`, valid during the call only."""
        raise NotImplementedError


class CountingSink(EventSink):
    """Takes everything and counts it: for measurements."""

    def __init__(self) -> None:
        self.windows = 0
        self.events = 0
        self.length = 0

    def on_window(self, version: int, count: int) -> int:
        """See `EventSink.on_window`."""
        self.windows += 1
        return 1

    def on_event(self, version: int, sequence: int, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """See `EventSink.on_event`."""
        self.events += 1
        self.length += length
        return 1


class PythonSink(EventSink):
    """Calls Python for each window (version, count) and event (version, sequence, payload); takes the GIL for it."""

    def __init__(
        self, on_window: Callable[[int, int], int], on_event: Callable[[int, int, bytes], int]
    ) -> None:
        self._on_window = on_window
        self._on_event = on_event

    def on_window(self, version: int, count: int) -> int:
        """See `EventSink.on_window`."""
        with cython.gil:
            return self._on_window(version, count)

    def on_event(self, version: int, sequence: int, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """See `EventSink.on_event`."""
        with cython.gil:
            return self._on_event(version, sequence, buffer.get_bytes(offset, length))
