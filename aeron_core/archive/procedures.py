"""Procedures: generators that yield while there is nothing to do, and return a result.

A program that blocks and one with an event loop run the same procedures, each with its own waits between the steps. A
procedure that is closed before its end, because the wait was interrupted, closes what it has opened.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from aeron_core.errors import ArchiveTimeoutError, ErrorCode, RegistrationError

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.registrations import Registration

T = TypeVar("T")
Procedure: TypeAlias = Generator[None, None, T]

_NS_PER_S: Final = 1_000_000_000


class Deadline:
    """The time until which a procedure waits, on the clock of the client."""

    def __init__(self, aeron: Aeron, timeout: float) -> None:
        self._clock = aeron._conductor.clock
        self._timeout = timeout
        self.extend()

    def extend(self) -> None:
        """Wait for the whole timeout again."""
        self._deadline_ns = self._clock.nano_time() + int(self._timeout * _NS_PER_S)

    def check(self, waits_for: str) -> None:
        """Raise ArchiveTimeoutError, which names what a procedure waits for, once the time has passed."""
        if self._clock.nano_time() >= self._deadline_ns:
            raise ArchiveTimeoutError(
                f"{waits_for} within {self._timeout} s: check that the archive runs, or use a longer message_timeout"
            )


def retried(add: Callable[[], Registration[T]], deadline: Deadline) -> Procedure[T]:
    """Return the procedure that adds a resource, again while the driver temporarily lacks what it needs."""
    while True:
        try:
            return (yield from registered(add()))
        except RegistrationError as error:
            if error.code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
                raise
            deadline.check(str(error))
            yield


def registered(registration: Registration[T]) -> Procedure[T]:
    """Return the procedure that waits for the result of a registration, which it cancels when it is closed."""
    try:
        while (value := registration.poll()) is None:
            yield
    except GeneratorExit:
        registration.cancel()
        raise
    return value
