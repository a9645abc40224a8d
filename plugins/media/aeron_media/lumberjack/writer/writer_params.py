"""Parameters of a writer's connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aeron_media.lumberjack.codec.encoder_params import EncoderParams

if TYPE_CHECKING:
    from aeron_media._native.byte_queue import MemoryBudget
    from aeron_media.fault_slot import FaultSlot
    from aeron_media.lumberjack.writer.writer_counters import WriterCounters

S: Final = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class WriterParams:
    """Parameters of a writer's connections; most are set by the channel URI, see `LumberjackParameters`.

    `window`: maximum events of a window; `pipeline`: maximum unacknowledged windows of a connection. 0 is no limit for
    `progress_timeout_ns` and `ttl_ns`.
    """

    counters: WriterCounters
    budget: MemoryBudget
    ends: FaultSlot
    encoder: EncoderParams = field(default_factory=EncoderParams)
    window: int = 2048
    pipeline: int = 2
    balances: bool = False
    timeout_ns: int = 30 * S
    progress_timeout_ns: int = 0
    backoff_init_ns: int = 1 * S
    backoff_max_ns: int = 60 * S
    ttl_ns: int = 0
