"""What the agent of the conductor gets: the conductor, and what gives it work. Plain Python keeps modules small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aeron_core._native.buffer import AtomicBuffer
    from aeron_core._native.commands import CommandRing


class PausingAgent(Protocol):
    """An agent that knows when it has something to do if nothing arrives."""

    role_name: str

    def do_work(self) -> int:
        """Run one duty cycle and return the work count, 0 if there was nothing to do."""

    def pause_until_ns(self, now_ns: int) -> int:
        """Return the time of its next work without commands and events; `now_ns` or less for the next cycle."""


@frozen(kw_only=True)
class ConductorInput:
    """What gives the conductor work: commands of clients, in a ring with the trailer at `capacity`, and events."""

    to_driver: AtomicBuffer
    capacity: int
    from_senders: Sequence[CommandRing]
    from_receiver: CommandRing
