"""What a listening endpoint counts, for all of its connections together."""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native.counter import Counter


class ReaderCounters:
    """Counters by what they count; `new_counter` makes one by its name."""

    def __init__(self, new_counter: Callable[[str], Counter]) -> None:
        self.connections = new_counter("lumberjack-connections")
        self.accepted = new_counter("lumberjack-accepted")
        self.memory = new_counter("lumberjack-memory")
        self.windows = new_counter("lumberjack-windows")
        self.events = new_counter("lumberjack-events")
        self.bytes_received = new_counter("lumberjack-bytes")
        self.bytes_inflated = new_counter("lumberjack-bytes-inflated")
        self.acks = new_counter("lumberjack-acks")
        self.keep_alives = new_counter("lumberjack-keep-alives")
        self.malformed = new_counter("lumberjack-rejects-malformed")
        self.over_limit = new_counter("lumberjack-rejects-limit")
        self.overdue = new_counter("lumberjack-rejects-timeout")
        self.turned_away = new_counter("lumberjack-rejects-connections")
        self.abandoned = new_counter("lumberjack-abandoned")
        self.broken = new_counter("lumberjack-broken")
