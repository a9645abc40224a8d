"""Counters of a sending endpoint: totals, and those of single connections."""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native.counter import AtomicCounter
from aeron_media.lumberjack.connection_counters import ConnectionCounters
from aeron_media.lumberjack.tls_counters import TlsCounters

#: Counters of a connection, in the order of a snapshot's values.
OF_CONNECTION = (
    "lumberjack-writer-connection-windows",
    "lumberjack-writer-connection-events",
    "lumberjack-writer-connection-bytes",
    "lumberjack-writer-connection-acks",
    "lumberjack-writer-connection-keep-alives",
    "lumberjack-writer-connection-lag",
)


class WriterCounters:
    """Counters of one sending endpoint.

    `new_counter` allocates a counter by its name, `free_counter` frees one. At most `max_connections` connections have
    counters of their own.
    """

    def __init__(
        self,
        new_counter: Callable[[str], AtomicCounter],
        free_counter: Callable[[AtomicCounter], None] = lambda _: None,
        *,
        max_connections: int = 0,
        has_tls: bool = False,
    ) -> None:
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
        self.lag = new_counter("lumberjack-writer-lag")
        self.tls = TlsCounters("lumberjack-writer", new_counter) if has_tls else None
        self.singly = ConnectionCounters(OF_CONNECTION, max_connections, new_counter, free_counter)
