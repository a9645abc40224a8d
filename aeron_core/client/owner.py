"""Protocol through which publications, subscriptions and counters use their client.

They depend on this protocol and not on the client, which creates them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol

if TYPE_CHECKING:
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.client.registrations import Registration
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.protocol.commands import DriverCommand

P = ParamSpec("P")


class Connectable(Protocol):
    """A publication or subscription, for which `await_connected` waits."""

    @property
    def is_connected(self) -> bool:
        """Whether it is open and has a peer: a receiver or subscriber, or an image."""

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait as `ResourceOwner.await_connected`; raise ClosedError at once if it is closed."""


class ResourceOwner(Protocol):
    """The client; any thread may call it.

    Methods that send a command raise ClientError if the driver's command ring stays full for 10 ms.
    """

    @property
    def counters(self) -> CountersReader:
        """The counters of the driver and its clients."""

    @property
    def loop_bells(self) -> LoopBells | None:
        """The bells of event loops, which are created by the first use; None if the driver has none."""

    def command(
        self,
        what: str,
        kind: Callable[Concatenate[int, int, P], DriverCommand],
        *fields: P.args,
        **named: P.kwargs,
    ) -> Registration[int]:
        """Send a command that is answered with its correlation id; `what` names it in errors.

        `fields` follow the client id and the correlation id. Raises ClosedError if the client is closed,
        ConfigurationError if the command is too long for the ring.
        """

    def await_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until `condition` holds, and return True; return False after `timeout` seconds, None for no limit.

        Runs duty cycles of the client's conductor, and sleeps without the GIL after those without work. Raises
        ClientError if it has to wait in a handler of the client.
        """

    def check_open(self) -> None:
        """Raise ClosedError if the client is closed, from the error that closed it."""

    def check_may_wait(self) -> None:
        """Raise ClosedError if the client is closed, ClientError in one of its handlers.

        Call it before `command` if the answer is awaited: a command must not take effect although the call fails.
        """

    def await_connected(self, resource: Connectable, timeout: float | None) -> None:
        """Wait until `resource` is connected; raise NotConnectedError after `timeout` seconds, None for no limit.

        Raises ClosedError if `resource` is closed, ClientError if it has to wait in a handler of the client.
        """

    def close_publication(self, registration_id: int, *, revoke: bool) -> None:
        """Close a publication and remove it from the driver; `revoke` ends its stream. Does nothing if it is closed."""

    def close_subscription(self, registration_id: int) -> None:
        """Close a subscription and its images and remove it from the driver; does nothing if it is closed."""

    def close_counter(self, registration_id: int) -> None:
        """Close a counter and free it in the driver; does nothing if it is closed."""
