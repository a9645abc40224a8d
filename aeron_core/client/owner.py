"""What publications, subscriptions and counters need of their client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from aeron_core.client.channel_peers import ChannelPeers
    from aeron_core.client.channel_status import ChannelStatus
    from aeron_core.client.counters import Counter
    from aeron_core.client.publications.publication_base import PublicationBase
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.subscription import Subscription

T = TypeVar("T")


class Connectable(Protocol):
    """What can have somebody at its other end."""

    @property
    def is_connected(self) -> bool:
        """Whether there is somebody."""

    @property
    def is_closed(self) -> bool:
        """Whether nobody will ever be there."""


class ResourceOwner(Protocol):
    """The client as its resources see it; any thread may call it."""

    def result(self, registration: Registration[T]) -> T:
        """Wait for the driver's answer and return it."""

    def await_connected(self, resource: Connectable, timeout: float | None) -> None:
        """Return once `resource` is connected; NotConnectedError after `timeout` seconds."""

    def close_publication(self, publication: PublicationBase, *, revoke: bool) -> None:
        """Give it back to the driver."""

    def close_subscription(self, subscription: Subscription) -> None:
        """Give it back to the driver."""

    def close_counter(self, counter: Counter) -> None:
        """Give it back to the driver."""

    def reject_image(self, correlation_id: int, position: int, reason: str) -> None:
        """Refuse an image from a position on."""

    def channel_status(self, status_id: int) -> ChannelStatus:
        """Return the state of a channel's endpoint."""

    def channel_peers(self, status_id: int, registration_id: int) -> ChannelPeers:
        """Return the peers of the channel of a publication, by the registration id that it has in the driver."""

    def local_addresses(self, status_id: int) -> list[str]:
        """Return the bound addresses of a channel."""

    def resolved_channel(self, channel: str, status_id: int) -> str | None:
        """Return the channel with its bound port in place of port 0."""

    def add_destination(self, registration_id: int, channel: str) -> Registration[int]:
        """Send a publication to one more place."""

    def remove_destination(self, registration_id: int, channel: str) -> Registration[int]:
        """Send a publication to one place less."""

    def remove_destination_by_id(self, registration_id: int, destination_id: int) -> Registration[int]:
        """Send a publication to one place less."""

    def add_rcv_destination(self, registration_id: int, channel: str) -> Registration[int]:
        """Receive a subscription from one more place."""

    def remove_rcv_destination(self, registration_id: int, channel: str) -> Registration[int]:
        """Receive a subscription from one place less."""
