"""The conductor's way to another agent: commands on a ring, and what must be kept alive meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aeron_core._native.commands import Command, CommandRing
    from aeron_core._native.counter import Counter

Released = Callable[[], None]
Linked = Callable[[int], None]


class AgentProxy:
    """Commands one agent. Used by the conductor only.

    An object goes to the agent as a borrowed reference: the proxy keeps it until the agent has said that it let
    go (RELEASED). Commands that the ring has no room for wait here, in order.
    """

    def __init__(self, ring: CommandRing, fails: Counter) -> None:
        self._ring = ring
        self._fails = fails
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._held: dict[int, object] = {}
        self._on_release: dict[tuple[int, int, int], Released] = {}
        self._on_link: dict[tuple[int, int, int], Linked] = {}

    def send(
        self, operation: int, target: object, subject: object = None, numbers: tuple[int, ...] = ()
    ) -> None:
        """Command the agent; `target` and `subject` stay alive until a removal of them is confirmed."""
        for item in (target, subject):
            if item is not None:
                self._held[id(item)] = item
        self._waiting.append((operation, target, subject, numbers))
        self.flush()

    def link(self, operation: int, target: object, subject: object, then: Linked) -> None:
        """Have the agent follow `subject`; `then` is called with the position that it found for it."""
        self._on_link[operation, id(target), id(subject)] = then
        self.send(operation, target, subject)

    def remove(
        self, operation: int, target: object, subject: object = None, then: Released | None = None
    ) -> None:
        """Have the agent let go of `subject`, or of `target` without one; `then` is called once it has."""
        if then is not None:
            self._on_release[operation, id(target), id(subject) if subject is not None else 0] = then
        self.send(operation, target, subject)

    def flush(self) -> int:
        """Offer what waits; return how many commands were taken."""
        taken = 0
        while self._waiting:
            operation, target, subject, numbers = self._waiting[0]
            if not self._ring.send(operation, target, subject, numbers):
                self._fails.get_and_add(1)
                break
            self._waiting.popleft()
            taken += 1
        return taken

    def on_released(self, command: Command) -> None:
        """Let go of what the agent has let go of."""
        target, subject = command.target, command.subject
        operation = command.numbers[0]
        freed = subject if subject is not None else target
        self._held.pop(id(freed), None)
        key = (operation, id(target), id(subject) if subject is not None else 0)
        then = self._on_release.pop(key, None)
        if then is not None:
            then()

    def on_linked(self, command: Command) -> None:
        """Go on with what the agent follows from now on."""
        then = self._on_link.pop((command.numbers[0], id(command.target), id(command.subject)))
        then(command.values[0])

    def forget(self, item: object) -> None:
        """Let go of an object that the agent cannot reach any more."""
        self._held.pop(id(item), None)

    def release_all(self) -> None:
        """Do what was to follow removals, at the end of the driver: no agent runs any more to confirm them."""
        while self._on_release:
            _, then = self._on_release.popitem()
            then()

    @property
    def is_idle(self) -> bool:
        """Whether no command waits and no answer is due."""
        return not self._waiting and not self._on_release and not self._on_link
