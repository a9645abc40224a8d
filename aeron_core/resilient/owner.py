"""The part of a resilient client that its publications, subscriptions, counters and registrations use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron


class ResilientOwner(Protocol):
    """The resilient client; any thread may call it."""

    @property
    def is_closed(self) -> bool:
        """Whether the program closed the client, or the client gave up."""

    @property
    def driver_timeout_s(self) -> float:
        """Seconds that a call waits for the driver, unless the call has its own timeout."""

    @property
    def current(self) -> Aeron | None:
        """The plain client that is open; None while there is no driver."""

    def check_open(self) -> None:
        """Raise ClosedError if the client is closed, from the error that closed it."""

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `condition` holds, and return True; return False after `timeout` seconds, None for no limit.

        Raises ClientError if it has to wait in a handler.
        """

    def forget(self, resource: object) -> None:
        """Stop re-adding a resource that is closed."""

    def keep(self, resource: object) -> None:
        """Re-add a resource again, because its close has failed."""

    def wake(self) -> None:
        """Let the client look for work soon."""

    def why(self) -> str:
        """Return why there is no driver, for the text of an error."""
