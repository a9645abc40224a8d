"""Base of the resources of a resilient client: one that the program keeps, over plain ones that come and go.

    attached -> detached    the plain client was closed by an error: the plain resource is closed with it
             <-             the resource was re-added to the next plain client
             -> closed      the program closed it, or the client

Invariant: the plain resource is replaced as a whole, by one assignment, so that a call on another thread uses either
the old or the new one; no call takes a lock for that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from aeron_core.errors import (
    ClientError,
    ClosedError,
    DriverTimeoutError,
    NotConnectedError,
    RegistrationError,
)

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.registrations import Registration
    from aeron_core.resilient.destinations import KeptDestinations
    from aeron_core.resilient.owner import ResilientOwner

T = TypeVar("T")


class PlainResource(Protocol):
    """A publication, subscription or counter of a plain client."""

    @property
    def registration_id(self) -> int:
        """Its id in the driver."""

    @property
    def is_closed(self) -> bool:
        """Whether it is closed, by the program or with its client."""

    def close(self) -> None:
        """Close it."""


R = TypeVar("R", bound=PlainResource)


class ResilientResource(Generic[R]):
    """Base of resilient publications, subscriptions and counters; any thread may close it."""

    def __init__(self, owner: ResilientOwner, current: R) -> None:
        self._owner = owner
        self._current = current
        self._was_closed = False
        # When its gap began, on the client's clock: None while attached; and when the last gap began.
        self._lost_ns: int | None = None
        self._last_lost_ns = 0
        # Guards the change from open to closed against a plain resource that is attached at the same time.
        self._lock = threading.RLock()

    @property
    def registration_id(self) -> int:
        """The id in the driver; another one after each restart."""
        return self._current.registration_id

    @property
    def is_closed(self) -> bool:
        """Whether the program closed it or its client, or the client gave up; False while the driver is gone."""
        return self._was_closed or self._owner.is_closed

    @property
    def is_attached(self) -> bool:
        """Whether the driver has it now; False while the driver is gone, and until it is re-added."""
        return not self._current.is_closed

    @property
    def plain(self) -> R:
        """The plain resource, the closed one while the driver is gone. For the supervisor."""
        return self._current

    @property
    def destinations(self) -> KeptDestinations | None:
        """KeptDestinations to re-add; None if it cannot have any. For the supervisor."""
        return None

    def close(self) -> None:
        """Close it and stop re-adding it. Closing twice does nothing.

        Raises ClientError if the driver's command ring stays full for 10 ms; it stays open.
        """
        self._close(lambda current: current.close())

    def submit(self, aeron: Aeron) -> Registration[R]:
        """Send the command that adds it to another plain client. For the supervisor."""
        raise NotImplementedError

    def attach(self, current: R) -> bool:
        """Replace the plain resource; return False if it was closed meanwhile. For the supervisor."""
        with self._lock:
            if self.is_closed:
                return False
            self._replace(current)
            return True

    def begin_gap(self, now_ns: int) -> None:
        """Remember when it was lost, unless it is lost already. For the supervisor."""
        if self._lost_ns is None:
            self._lost_ns = now_ns

    def end_gap(self, now_ns: int) -> int:
        """Return for how many nanoseconds it was lost. For the supervisor."""
        self._last_lost_ns = now_ns if self._lost_ns is None else self._lost_ns
        self._lost_ns = None
        return self.gap_ns(now_ns)

    def gap_ns(self, now_ns: int) -> int:
        """Return the nanoseconds since the last gap began. For the supervisor."""
        return now_ns - self._last_lost_ns

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _replace(self, current: R) -> None:
        self._current = current

    def _close(self, close: Callable[[R], object]) -> None:
        with self._lock:
            if self._was_closed:
                return
            self._was_closed = True
            # No other one is attached from now on.
            current = self._current
        self._owner.forget(self)
        try:
            close(current)
        except ClientError:
            # As of a plain resource: it stays open, and can be closed again.
            self._was_closed = False
            self._owner.keep(self)
            raise

    def _check_open(self) -> None:
        self._owner.check_open()
        if self._was_closed:
            raise ClosedError(f"{self!r} is closed: add a new one")

    def _await_attached(self, deadline_s: float | None, timeout: float | None) -> R:
        """Return the plain resource once it is attached; `deadline_s` is monotonic and follows from `timeout`.

        Raises NotConnectedError if it is not attached by then.
        """
        self._owner.await_until(lambda: self.is_attached or self.is_closed, remaining_s(deadline_s))
        self._check_open()
        current = self._current
        if current.is_closed:
            raise NotConnectedError(
                f"{self!r}: not re-added to the media driver within {timeout} s: {self._owner.why()}"
            )
        return current

    def _retried(self, call: Callable[[R], T]) -> T:
        """Return the result of `call` with the plain resource; repeat it if the driver is lost meanwhile.

        Raises DriverTimeoutError after the driver timeout.
        """
        timeout = self._owner.driver_timeout_s
        deadline_s = deadline_of(timeout)
        while True:
            try:
                current = self._await_attached(deadline_s, timeout)
            except NotConnectedError as error:
                raise DriverTimeoutError(str(error)) from error
            try:
                return call(current)
            except RegistrationError:
                raise
            except ClientError:
                if not current.is_closed or self.is_closed:
                    raise

    def _attached(self) -> R:
        """Return the plain resource; raise ClosedError once closed, DriverTimeoutError while it is not attached."""
        self._check_open()
        current = self._current
        if current.is_closed:
            raise DriverTimeoutError(f"{self!r} is not in the media driver now: {self._owner.why()}")
        return current


def deadline_of(timeout: float | None) -> float | None:
    """Return the monotonic time in seconds after `timeout` seconds; None for no limit."""
    return None if timeout is None else time.monotonic() + timeout


def remaining_s(deadline_s: float | None) -> float | None:
    """Return the seconds until `deadline_s`, at least 0; None for no limit."""
    return None if deadline_s is None else max(deadline_s - time.monotonic(), 0.0)
