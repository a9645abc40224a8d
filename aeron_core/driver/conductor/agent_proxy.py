"""Commands from the conductor to another agent over a ring, and references to the objects that they carry.

Invariant: an object lives until the agent has confirmed that it no longer uses it; commands keep their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aeron_core._native.commands import Command, CommandRing
    from aeron_core._native.counter import AtomicCounter

Released = Callable[[], None]
Linked = Callable[[int], None]


class AgentProxy:
    """Sender of commands to one agent. Used by the conductor only.

    An object goes to the agent as a borrowed reference: the proxy holds it until the agent confirms its removal
    (RELEASED), or until `forget`. Commands that do not fit into the ring are queued here, in order.
    """

    def __init__(self, ring: CommandRing, fails: AtomicCounter) -> None:
        self._ring = ring
        self._fails = fails
        self._waiting: deque[tuple[Any, ...]] = deque()
        # The ring carries bare pointers, and the agent does not count references: an object that is dropped here too
        # early is freed while the agent still uses it.
        self._held: dict[int, object] = {}
        # Callbacks by operation and the `id()` of target and subject, which is unambiguous while the objects are held.
        self._on_release: dict[tuple[int, int, int], Released] = {}
        self._on_link: dict[tuple[int, int, int], Linked] = {}

    def send(
        self, operation: int, target: object, subject: object = None, numbers: tuple[int, ...] = ()
    ) -> None:
        """Send a command about `subject`, such as a spy of the publication `target`, or about `target` alone.

        Both are kept alive until the agent confirms their removal, or until `forget`. `numbers`: at most eight int32.
        """
        for item in (target, subject):
            if item is not None:
                # A removal holds its target and subject too: both must live until the agent has sent
                # their addresses back in its confirmation.
                self._held[id(item)] = item
        # Sent through the queue even if the ring has space: an ADD must not overtake an earlier REMOVE.
        self._waiting.append((operation, target, subject, numbers))
        self.flush()

    def link(self, operation: int, target: object, subject: object, then: Linked) -> None:
        """Command the agent to add `subject`, a subscriber, to `target`.

        After the agent has done so, `on_linked` calls `then` with the join position that the agent chose.
        """
        self._on_link[operation, id(target), id(subject)] = then
        self.send(operation, target, subject)

    def remove(
        self, operation: int, target: object, subject: object = None, then: Released | None = None
    ) -> None:
        """Command the agent to release `subject`, or `target` if there is none; `on_released` then calls `then`."""
        if then is not None:
            self._on_release[operation, id(target), id(subject) if subject is not None else 0] = then
        self.send(operation, target, subject)

    def flush(self) -> int:
        """Send queued commands until the ring is full; return how many were sent."""
        taken = 0
        while self._waiting:
            operation, target, subject, numbers = self._waiting[0]
            if not self._ring.send(operation, target, subject, numbers):
                # The ring is full, because the agent is behind. A later duty cycle sends the rest.
                self._fails.get_and_add(1)
                break
            self._waiting.popleft()
            taken += 1
        return taken

    @property
    def has_waiting(self) -> bool:
        """Whether `flush` has something to do."""
        return bool(self._waiting)

    def on_released(self, command: Command) -> None:
        """Handle RELEASED: drop the reference that the agent has released; call the `then` of its removal, if any."""
        target, subject = command.target, command.subject
        operation = command.numbers[0]
        # If there is a subject, such as a spy, the agent releases only the subject and continues to use the target.
        freed = subject if subject is not None else target
        self._held.pop(id(freed), None)
        key = (operation, id(target), id(subject) if subject is not None else 0)
        then = self._on_release.pop(key, None)
        if then is not None:
            then()

    def on_linked(self, command: Command) -> None:
        """Handle LINKED: call the `then` of the link with the join position, a stream position."""
        then = self._on_link.pop((command.numbers[0], id(command.target), id(command.subject)))
        then(command.values[0])

    def forget(self, item: object) -> None:
        """Drop the reference to an object that the agent can no longer reach."""
        self._held.pop(id(item), None)

    def release_all(self) -> None:
        """Call the `then` of pending removals and drop all references; only after the agent has stopped."""
        while self._on_release:
            # A callback may request further removals, such as that of an endpoint without publications.
            _, then = self._on_release.popitem()
            then()
        # Break the reference cycle: callbacks refer to registrars, which refer to this proxy.
        self._on_link.clear()
        self._waiting.clear()
        self._held.clear()

    @property
    def is_idle(self) -> bool:
        """Whether no command is queued and no confirmation is pending."""
        return not self._waiting and not self._on_release and not self._on_link
