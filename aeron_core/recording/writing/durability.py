"""Durability policies: when written data counts as recorded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from aeron_core.errors import ConfigurationError

#: Default time between flushes of `interval`. An invented number: a compromise between the latency of readers, on
#: average half of this time, the data lost in a power failure, and the flush rate of any disk.
DEFAULT_INTERVAL_NS: Final = 25_000_000


class DurabilityPolicy(StrEnum):
    """Durability policy; the value is its name on the command line and in settings."""

    BLOCK = "block"  # each written block is flushed to disk before the sender may continue
    INTERVAL = "interval"  # written data is flushed after an interval, or when the sender may wait for it
    NEVER = "never"  # written data counts as recorded: it survives a crash of the process, not of the machine


@dataclass(frozen=True, slots=True)
class Durability:
    """A policy with its interval in nanoseconds.

    The constructor raises ConfigurationError unless the interval is positive.
    """

    policy: DurabilityPolicy = DurabilityPolicy.INTERVAL
    interval_ns: int = DEFAULT_INTERVAL_NS

    def __post_init__(self) -> None:
        if self.interval_ns <= 0:
            raise ConfigurationError(
                f"durability interval={self.interval_ns} ns: must be positive, such as {DEFAULT_INTERVAL_NS} ns"
            )

    @property
    def is_flushed(self) -> bool:
        """Whether data is flushed to disk before it counts as recorded."""
        return self.policy is not DurabilityPolicy.NEVER
