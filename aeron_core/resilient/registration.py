"""Registration of a resilient client: the future result of an `…_async` method, also while the driver is gone.

waiting -> sent         there is a driver: the command is sent
        <-              the driver was lost before it answered
        -> done         the driver answered, or refused; or no answer within the driver timeout
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from aeron_core.errors import ClientError, ClosedError, DriverTimeoutError, RegistrationError
from aeron_core.resilient.resource import R, ResilientResource

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.registrations import Registration
    from aeron_core.resilient.owner import ResilientOwner

T = TypeVar("T", bound=ResilientResource)  # type: ignore[type-arg]
#: Sends the command to a plain client; returns its registration, and what makes the result resilient.
Submit = Callable[["Aeron"], "tuple[Registration[R], Callable[[R], T]]"]


class ResilientRegistration(Generic[T]):
    """The future result of an `…_async` method of a resilient client. Any thread may use it.

    The command is sent at once, or by the first `poll` after the client is connected.
    """

    def __init__(
        self,
        owner: ResilientOwner,
        what: str,
        submit: Submit[R, T],
        add: Callable[[T, Aeron], object],
    ) -> None:
        self.what = what
        self._owner = owner
        self._submit = submit
        self._add = add
        self._deadline_s = time.monotonic() + owner.driver_timeout_s
        self._lock = threading.Lock()
        self._sent: _Sent[T] | None = None
        self._value: T | None = None
        self._error: Exception | None = None
        # Wrong arguments raise here.
        self.poll()

    @property
    def is_done(self) -> bool:
        """Whether it has a result or an error, as far as `poll` has seen."""
        return self._value is not None or self._error is not None

    def poll(self) -> T | None:
        """Return the result, None while it is pending, without waiting; once it has failed, raise as `result`."""
        with self._lock:
            if self._error is not None:
                raise self._error
            if self._value is None:
                try:
                    self._value = self._advance()
                except Exception as error:
                    self._error = error
                    raise
            return self._value

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result and return it; raise TimeoutError after `timeout` seconds, None for no limit.

        Raises the errors of `Registration.result`; a loss of the driver is waited out, within the driver timeout.
        """
        if not self._owner.await_until(lambda: self.poll() is not None, timeout):
            raise TimeoutError(
                f"{self.what}: no answer within {timeout} s: wait for the registration again, or cancel it"
            )
        value = self.poll()
        assert value is not None
        return value

    def cancel(self) -> bool:
        """Cancel, so that a result that still arrives is closed at once; return False if it is done already."""
        with self._lock:
            if self.is_done:
                return False
            late = None
            if self._sent is not None:
                # An error of the driver that no poll has raised yet: there is nothing to cancel.
                with suppress(Exception):
                    late = self._sent.cancel()
            if late is not None:
                late.close()
            self._error = ClientError(f"{self.what}: the registration was cancelled: send the command again")
            return True

    def __repr__(self) -> str:
        return f"ResilientRegistration({self.what!r}, {'done' if self.is_done else 'awaiting'})"

    def _advance(self) -> T | None:
        self._owner.check_open()
        aeron = self._owner.current
        if self._sent is None and aeron is not None:
            try:
                self._sent = _Sent(aeron, *self._submit(aeron))
            except ClosedError:
                if not aeron.is_closed:
                    raise
        if self._sent is None:
            self._check_deadline()
            return None
        sent = self._sent
        try:
            value = sent.poll()
        except RegistrationError:
            raise
        except ClientError:
            if not sent.aeron.is_closed or self._owner.is_closed:
                raise
            # The driver was lost before it answered: send the command to the next one.
            self._sent = None
            self._check_deadline()
            return None
        if value is not None:
            self._add(value, sent.aeron)
        return value

    def _check_deadline(self) -> None:
        if time.monotonic() >= self._deadline_s:
            raise DriverTimeoutError(
                f"{self.what}: no driver within {self._owner.driver_timeout_s:g} s: {self._owner.why()}"
            )


class _Sent(Generic[T]):
    """A command that was sent to a plain client."""

    def __init__(self, aeron: Aeron, registration: Registration[R], make: Callable[[R], T]) -> None:
        self.aeron = aeron
        self.cancel_plain = registration.cancel

        def poll() -> T | None:
            made = registration.poll()
            return None if made is None else make(made)

        self.poll = poll

    def cancel(self) -> T | None:
        """Cancel the command; return the result if it has arrived already."""
        return None if self.cancel_plain() else self.poll()
