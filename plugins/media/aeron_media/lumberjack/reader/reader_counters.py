"""Counters of a listening endpoint: totals, and those of single connections."""

from __future__ import annotations

from collections.abc import Callable

from aeron_core._native.counter import AtomicCounter
from aeron_media.lumberjack.connection_counters import ConnectionCounters
from aeron_media.lumberjack.tls_counters import TlsCounters

#: Counters of a connection, in the order of a snapshot's values.
OF_CONNECTION = (
    "lumberjack-connection-windows",
    "lumberjack-connection-events",
    "lumberjack-connection-bytes",
    "lumberjack-connection-bytes-inflated",
    "lumberjack-connection-acks",
    "lumberjack-connection-keep-alives",
    "lumberjack-connection-lag",
)


class ReaderCounters:
    """Counters of one listening endpoint.

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
        self.evicted = new_counter("lumberjack-evicted")
        self.abandoned = new_counter("lumberjack-abandoned")
        self.broken = new_counter("lumberjack-broken")
        self.lag = new_counter("lumberjack-lag")
        self.tls = TlsCounters("lumberjack", new_counter) if has_tls else None
        self.singly = ConnectionCounters(OF_CONNECTION, max_connections, new_counter, free_counter)
