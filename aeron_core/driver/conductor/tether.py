"""Where an untethered subscriber of one stream stands.

    ACTIVE ──at the limit for too long──► LINGER (unavailable) ──► RESTING ──► ACTIVE (available again)
                                             └──rejoin=false──► (unlinked)

Only an active one holds its publisher back. Not here: who goes on from state to state (`stream`).
Source: aeron_driver_common.h, aeron_subscription_tether_state_t.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TetherState(Enum):
    """See the module."""

    ACTIVE = "active"
    LINGER = "linger"
    RESTING = "resting"


@dataclass
class Tether:
    """The state of one subscriber, and since when, or since when it has been at the limit."""

    since_ns: int
    state: TetherState = TetherState.ACTIVE

    def enter(self, state: TetherState, now_ns: int) -> None:
        """Go on to another state."""
        self.state = state
        self.since_ns = now_ns

    def has_lasted(self, duration_ns: int, now_ns: int) -> bool:
        """Return whether that has been so for more than `duration_ns`."""
        return now_ns > self.since_ns + duration_ns
