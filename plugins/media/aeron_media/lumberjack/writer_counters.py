"""What a sending endpoint counts, for all of its connections together."""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native.counter import Counter


class WriterCounters:
    """Counters by what they count; `new_counter` makes one by its name."""

    def __init__(self, new_counter: Callable[[str], Counter]) -> None:
        self.connected = new_counter("lumberjack-writer-connected")
        self.attempts = new_counter("lumberjack-writer-attempts")
        self.windows = new_counter("lumberjack-writer-windows")
        self.events = new_counter("lumberjack-writer-events")
        self.bytes_sent = new_counter("lumberjack-writer-bytes")
        self.acks = new_counter("lumberjack-writer-acks")
        self.keep_alives = new_counter("lumberjack-writer-keep-alives")
        self.resends = new_counter("lumberjack-writer-resends")
        self.passed_over = new_counter("lumberjack-writer-passed-over")
        self.lost = new_counter("lumberjack-writer-lost")
