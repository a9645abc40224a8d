"""Registrations: commands that await the driver's answer.

    awaiting -> registered    the driver answered, and the resource exists
             -> errored       the driver refused, its answer could not be used, or the client was closed
             -> timed out     no answer within the driver timeout, although the driver was alive after that
             -> cancelled     the program no longer wants it

Invariant: a resource that arrives for a timed-out or cancelled registration is removed from the driver, unless it is
a static counter, provided that it arrives within the driver timeout, or twice that time if the registration timed out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from aeron_core.errors import ClientError, DriverTimeoutError

if TYPE_CHECKING:
    from aeron_core.protocol.responses import Response

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Awaiter(Protocol):
    """The part of the client that waits for an answer."""

    def await_registration(self, registration: Registration[T], timeout: float | None) -> None:
        """Return once `registration` is done; raise TimeoutError after `timeout` seconds, None for no limit."""


class RegistrationState(Enum):
    """State of a registration; the docstring of the module shows the transitions."""

    AWAITING = "awaiting"
    REGISTERED = "registered"
    ERRORED = "errored"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"


class Registration(Generic[T]):
    """The future result of an `…_async` method. Any thread may use it."""

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
        # A program may cancel on one thread while the conductor completes on another: only one may set the state.
        self._lock = threading.Lock()

    @property
    def is_done(self) -> bool:
        """Whether the registration has left the state AWAITING."""
        return self.state is not RegistrationState.AWAITING

    def poll(self) -> T | None:
        """Return the result, None while it is pending, without waiting; once it has failed, raise as `result`."""
        if self.state is RegistrationState.CANCELLED:
            raise ClientError(f"{self.what}: the registration was cancelled: send the command again")
        if self._error is not None:
            raise self._error
        return self._value

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result and return it; raises TimeoutError after `timeout` seconds, None for no limit.

        Raises RegistrationError if the driver refuses, StorageError or ProtocolError if its answer cannot be
        used, ClosedError if the program closes the client first, or the error that closed it, and ClientError if
        the registration was cancelled or if it has to wait in a handler. Raises DriverTimeoutError if the driver
        does not answer within the driver timeout; the client is closed only if the driver is dead.
        """
        self._awaiter.await_registration(self, timeout)
        value = self.poll()
        assert value is not None
        return value

    def cancel(self) -> bool:
        """Cancel, so that a result that still arrives is closed at once; return False if it is done already."""
        return self._leave(RegistrationState.CANCELLED)

    def complete(self, response: Response) -> T | None:
        """Complete with the driver's answer; return None.

        If the registration is done already, returns the late result, which the caller must close. Raises any error of
        the creation of the result. For the client's conductor.
        """
        value = self._make(response)
        return None if self._leave(RegistrationState.REGISTERED, value=value) else value

    def fail(self, error: Exception, state: RegistrationState = RegistrationState.ERRORED) -> None:
        """Fail with `error` unless done already. For the client's conductor."""
        self._leave(state, error=error)

    def _leave(
        self, state: RegistrationState, *, value: T | None = None, error: Exception | None = None
    ) -> bool:
        """Leave the state AWAITING for `state`; return False if another thread did so before."""
        with self._lock:
            if self.is_done:
                return False
            self._value = value
            self._error = error
            # Last: a thread that reads the new state then reads the result without the lock.
            self.state = state
            return True

    def __repr__(self) -> str:
        return f"Registration({self.registration_id}, {self.what!r}, {self.state.value})"


class Registrations:
    """Registrations by correlation id: pending, and timed out or cancelled ones until a late answer or a deadline.

    Used under the lock of the client's conductor.
    """

    def __init__(self) -> None:
        self._pending: dict[int, Registration[object]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def add(self, registration: Registration[T]) -> None:
        """Add a pending registration."""
        self._pending[registration.registration_id] = registration  # type: ignore[assignment]

    def find(self, correlation_id: int) -> Registration[object] | None:
        """Return the registration with that id, even if it timed out or was cancelled; None if there is none."""
        return self._pending.get(correlation_id)

    def pop(self, correlation_id: int) -> Registration[object] | None:
        """Remove and return the registration with that id, or None."""
        return self._pending.pop(correlation_id, None)

    def check_deadlines(self, beat_ns: int, timeout_ns: int) -> int:
        """Fail pending registrations with a deadline at or before `beat_ns`; return how many.

        `beat_ns` is the time of the driver's last heartbeat. While it is before the deadline of a registration, the
        driver may be dead, which closes the client elsewhere: the registration stays pending. One that fails here is
        kept until a second deadline, `timeout_ns` later; one that was cancelled is removed at its first.
        """
        count = 0
        for registration in list(self._pending.values()):
            if beat_ns < registration.deadline_ns:
                continue
            if not registration.is_done:
                registration.fail(
                    DriverTimeoutError(
                        f"{registration.what}: no answer from the media driver within "
                        f"{timeout_ns // 1_000_000} ms, although it is running: send the command again, or raise "
                        "driver_timeout_ms"
                    ),
                    RegistrationState.TIMED_OUT,
                )
                registration.deadline_ns += timeout_ns  # kept, so that a late result can still be removed
                count += 1
            else:
                del self._pending[registration.registration_id]
        return count

    def fail_all(self, error: Exception) -> None:
        """Fail all pending registrations and remove all."""
        for registration in self._pending.values():
            registration.fail(error)
        self._pending.clear()
