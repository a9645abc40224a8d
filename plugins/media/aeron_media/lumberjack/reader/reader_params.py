"""Parameters of a reader's connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aeron_media.lumberjack._native import bounds
from aeron_media.lumberjack.codec.frame_limits import FrameLimits

if TYPE_CHECKING:
    from aeron_media._native.byte_queue import MemoryBudget
    from aeron_media.lumberjack.reader.reader_counters import ReaderCounters

S: Final = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class ReaderParams:
    """Parameters of a reader's connections; most are set by the channel URI, see `LumberjackParameters`.

    `max_window`: number of events after which part of a longer window is acknowledged. `max_per_source`: maximum number
    of connections of one source, 0 for no limit.
    """

    counters: ReaderCounters
    budget: MemoryBudget
    limits: FrameLimits = field(default_factory=FrameLimits)
    max_window: int = 10_000
    is_acked_when_received: bool = False
    ack_partial: bool = False
    keep_alive_ns: int = 5 * S
    keeps_v1_alive: bool = False
    window_timeout_ns: int = 30 * S
    idle_timeout_ns: int = 60 * S
    write_timeout_ns: int = 30 * S
    max_per_source: int = 0
    eviction_timeout_ns: int = 5 * S

    @property
    def max_input_length(self) -> int:
        """Maximum number of bytes received and not parsed: the longest frame and two calls of READ_LENGTH bytes."""
        return self.limits.max_frame_length + 2 * bounds.READ_LENGTH
