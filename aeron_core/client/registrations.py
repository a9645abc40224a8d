"""Commands that wait for the driver's answer.

    awaiting -> registered    the driver answered, and what was asked for is there
             -> errored       the driver refused, or what it made could not be mapped
             -> timed out     no answer within the driver timeout, though the driver was alive after that
             -> cancelled     nobody wants it any more

Invariant: what arrives for a registration that timed out or was cancelled is given back to the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from aeron_core.errors import ClientError, DriverTimeoutError

if TYPE_CHECKING:
    from aeron_core.protocol.responses import Response

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Awaiter(Protocol):
    """Who can wait for an answer."""

    def await_registration(self, registration: Registration[T], timeout: float | None) -> None:
        """Return once `registration` is done; raise TimeoutError after `timeout` seconds."""


class RegistrationState(Enum):
    """See the module."""

    AWAITING = "awaiting"
    REGISTERED = "registered"
    ERRORED = "errored"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


class Registration(Generic[T]):
    """What an `add_…_async` returns: a command that the driver has not answered yet. Any thread."""

    def __init__(
        self,
        awaiter: Awaiter,
        registration_id: int,
        what: str,
        deadline_ns: int,
        make: Callable[[Response], T],
    ) -> None:
        self.registration_id = registration_id
        self.what = what
        self.deadline_ns = deadline_ns
        self.state = RegistrationState.AWAITING
        self._awaiter = awaiter
        self._make = make
        self._value: T | None = None
        self._error: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether the answer is there, or none is waited for any more."""
        return self.state is not RegistrationState.AWAITING

    def poll(self) -> T | None:
        """Return what was asked for, None while it is not there. Raises what `result` raises."""
        if self.state is RegistrationState.CANCELLED:
            raise ClientError(f"{self.what}: cancelled")
        if self._error is not None:
            raise self._error
        return self._value

    def result(self, timeout: float | None = None) -> T:
        """Wait for what was asked for and return it; TimeoutError after `timeout` seconds.

        Raises RegistrationError when the driver refuses, DriverTimeoutError when it does not answer within
        the driver timeout: it has closed the client where the driver is dead, and not where the driver lives.
        """
        self._awaiter.await_registration(self, timeout)
        value = self.poll()
        assert value is not None
        return value

    def cancel(self) -> bool:
        """Give up what was asked for: what arrives is closed at once. Return False when it had arrived."""
        if self.is_done:
            return False
        self.state = RegistrationState.CANCELLED
        return True

    def complete(self, response: Response) -> T | None:
        """Take the driver's answer; return what nobody wants any more. For the client's conductor."""
        value = self._make(response)
        if self.is_done:
            return value
        self._value = value
        self.state = RegistrationState.REGISTERED
        return None

    def fail(self, error: Exception, state: RegistrationState = RegistrationState.ERRORED) -> None:
        """Take the reason why there will be nothing. For the client's conductor."""
        if not self.is_done:
            self._error = error
            self.state = state

    def __repr__(self) -> str:
        return f"Registration({self.registration_id}, {self.what!r}, {self.state.value})"


class Registrations:
    """Commands by their correlation ids."""

    def __init__(self) -> None:
        self._pending: dict[int, Registration[object]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, registration: Registration[T]) -> None:
        """Wait for an answer."""
        self._pending[registration.registration_id] = registration  # type: ignore[assignment]

    def find(self, correlation_id: int) -> Registration[object] | None:
        """Return who waits for that answer, also in vain, or None."""
        return self._pending.get(correlation_id)

    def pop(self, correlation_id: int) -> Registration[object] | None:
        """Return who waits for that answer and forget it, or None."""
        return self._pending.pop(correlation_id, None)

    def check_deadlines(self, beat_ns: int, timeout_ns: int) -> int:
        """Give up what the driver had not answered in time when it was last seen alive; return how many.

        A driver that was not seen alive since the deadline may be dead: the client is closed for that then.
        """
        count = 0
        for registration in list(self._pending.values()):
            if beat_ns < registration.deadline_ns:
                continue
            if not registration.is_done:
                registration.fail(
                    DriverTimeoutError(
                        f"{registration.what}: no answer from the media driver within "
                        f"{timeout_ns // 1_000_000} ms"
                    ),
                    RegistrationState.TIMED_OUT,
                )
                registration.deadline_ns += timeout_ns  # a late answer must still be given back
                count += 1
            else:
                del self._pending[registration.registration_id]
        return count

    def fail_all(self, error: Exception) -> None:
        """Give all of them up."""
        for registration in self._pending.values():
            registration.fail(error)
        self._pending.clear()
