"""When what was written counts as recorded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aeron_core.errors import ConfigurationError

#: How often `interval` goes to the disk where nobody says otherwise. An invented number: what readers wait for, half
#: of it on average, and what may be lost with the power, against the flushes that any disk can do.
DEFAULT_INTERVAL_NS: Final = 25_000_000


class DurabilityPolicy(StrEnum):
    """Names as they are written on the command line and in settings."""

    BLOCK = "block"  # every block that was written is flushed to the disk before the stream may go on
    INTERVAL = "interval"  # what was written is flushed after a time, or when the stream waits for it
    NEVER = "never"  # written is recorded: it survives the process, not the machine


@dataclass(frozen=True, slots=True)
class Durability:
    """A policy with its interval in nanoseconds."""

    policy: DurabilityPolicy = DurabilityPolicy.INTERVAL
    interval_ns: int = DEFAULT_INTERVAL_NS

    def __post_init__(self) -> None:
        if self.interval_ns <= 0:
            raise ConfigurationError(f"durability interval={self.interval_ns} ns: must be positive")

    @property
    def is_flushed(self) -> bool:
        """Whether the disk is waited for at all."""
        return self.policy is not DurabilityPolicy.NEVER
