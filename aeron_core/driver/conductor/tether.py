"""Tether: the state of an untethered subscriber, which is dropped if it holds its publisher back for too long.

Not here: the transitions, which need the stream (`lifecycle`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TetherState(Enum):
    """States of an untethered subscriber of one stream; only an ACTIVE one limits its publisher.

        ACTIVE ──at the limit for too long──► LINGER (unavailable) ──► RESTING ──► ACTIVE (available again)
                                                 └──rejoin=false──► (unlinked)

    Source: aeron_driver_common.h, aeron_subscription_tether_state_t.
    """

    ACTIVE = "active"
    LINGER = "linger"
    RESTING = "resting"


@dataclass
class Tether:
    """State of one untethered subscriber, and the time since which a timeout of the state runs.

    In ACTIVE, `since_ns` is the last time at which the subscriber was seen past the limit or joining; else
    the time at which the state was entered.
    """

    since_ns: int
    state: TetherState = TetherState.ACTIVE

    def enter(self, state: TetherState, now_ns: int) -> None:
        """Enter `state` at `now_ns`, from which the timeout of the state runs."""
        self.state = state
        self.since_ns = now_ns

    def has_lasted(self, duration_ns: int, now_ns: int) -> bool:
        """Return whether more than `duration_ns` has passed since `since_ns`."""
        return now_ns > self.since_ns + duration_ns
