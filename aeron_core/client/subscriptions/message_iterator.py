"""Iteration over the messages of a subscription, which waits for each.

Not here: reading them (subscription), and the wait (`ResourceOwner.await_until`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol


class MessageSource(Protocol):
    """The part of a subscription that an iteration uses."""

    @property
    def is_closed(self) -> bool:
        """Whether no message will come any more."""

    def poll_many(self, max_messages: int) -> list[bytes]:
        """Return up to `max_messages` whole messages."""


class Waiter(Protocol):
    """The part of the owner of a subscription that waits."""

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `condition` holds, and return True; return False after `timeout` seconds, None for no limit."""


def iterate(source: MessageSource, owner: Waiter, timeout: float | None) -> Iterator[bytes]:
    """Yield the messages of `source` as `Subscription.messages` describes; `timeout` in seconds."""
    arrived: list[bytes] = []

    def has_arrived() -> bool:
        nonlocal arrived
        # One at a time: further messages would be lost if the program ended the iteration.
        arrived = source.poll_many(1)
        return bool(arrived) or source.is_closed

    while not source.is_closed:
        if not has_arrived() and not owner.await_until(has_arrived, timeout):
            return
        yield from arrived
