"""What Sender and Receiver are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aeron_core._native.clock import Clock
    from aeron_core._native.commands import CommandRing
    from aeron_core.agent.duty_cycle import DutyCycleTracker


@dataclass(frozen=True, kw_only=True)
class AgentParams:
    """`commands` come from the conductor, `conductor` goes to it."""

    clock: Clock
    duty_cycle: DutyCycleTracker
    commands: CommandRing
    conductor: CommandRing
    status_message_timeout_ns: int
    send_to_status_poll_ratio: int = 6
