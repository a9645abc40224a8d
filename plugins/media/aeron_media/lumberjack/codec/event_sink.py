"""Event sinks: receivers of the windows and events that a parser finds."""

from __future__ import annotations

from collections.abc import Callable

import cython

from aeron_core._native.buffer import AtomicBuffer


class EventSink:
    """Base class of sinks, which take windows and events in the order received.

    Called on the parser's thread, without the GIL. Both methods return 1 if they took the item, and 0 to apply back
    pressure: the parser then keeps its position and offers the same item again. A negative number is one of `faults`
    and stops the parser; `fault_limit` is the limit for the error message. `version` is that of the frame, '1' or '2'
    as a byte; counts and sequence numbers are unsigned 32-bit numbers.
    """

    fault_limit: int

    def on_window(self, version: int, count: int) -> int:
        """Begin a window of `count` events."""
        raise NotImplementedError

    def on_event(self, version: int, sequence: int, buffer: AtomicBuffer, offset: int, length: int) -> int:
        """Take an event of `length` bytes at `offset`; the bytes are valid during the call only."""
        raise NotImplementedError


class CountingSink(EventSink):
    """Sink for benchmarks: takes everything; counts windows, events, and the bytes of the events (`length`)."""

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
    """Sink that calls Python functions, with the GIL, and returns their results.

    `on_window(version, count)`, `on_event(version, sequence, payload)`; `payload` is a copy.
    """

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
