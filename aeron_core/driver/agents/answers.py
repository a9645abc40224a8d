"""What an agent answers to the conductor's commands.

Invariant: no answer is lost. One that the ring has no room for waits here, and the agent takes no further command
until it is sent: what the conductor would do then, such as closing a socket, must happen some time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.commands import Command

if TYPE_CHECKING:
    from aeron_core._native.commands import CommandRing


class Answers:
    """Used by one agent, for one command at a time."""

    _is_waiting: bool

    def __init__(self, conductor: CommandRing) -> None:
        self._conductor = conductor
        self._answer = Command()

    def are_sent(self) -> bool:
        """Return whether the next command may be taken, after trying again to send what waits."""
        if self._is_waiting and self._conductor.offer(self._answer):
            self._is_waiting = False
        return not self._is_waiting

    def give(self, command: Command, code: int, value: int) -> int:
        """Answer a command, now or as soon as there is room; at most once."""
        self._answer.begin(code, command.target_pointer())
        self._answer.set_number(0, command.operation())
        self._answer.set_subject(command.subject_pointer())
        self._answer.set_value(0, value)
        self._is_waiting = not self._conductor.offer(self._answer)
        return 0
