"""What the functions of `aio` need of a client and its resources: plain ones, or those of a resilient client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from aeron_core.bytes_like import BytesLike
    from aeron_core.client.handlers import ImageHandler
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.client.subscriptions.image import ControlledFragmentHandler, Image

T_co = TypeVar("T_co", covariant=True)


class PendingResult(Protocol[T_co]):
    """A registration."""

    def poll(self) -> T_co | None:
        """Return the result, None while it is pending."""

    def cancel(self) -> bool:
        """Cancel it; return False if it is done already."""


class PolledSubscription(Protocol):
    """A subscription."""

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""

    @property
    def images(self) -> tuple[Image, ...]:
        """Its current images."""

    @property
    def loop_bells(self) -> LoopBells | None:
        """The bells that wake event loops, None without."""

    def controlled_poll(self, handler: ControlledFragmentHandler, fragment_limit: int = 10) -> int:
        """Poll as `Subscription.controlled_poll`."""


class OfferedPublication(Protocol):
    """A publication of either kind."""

    @property
    def max_possible_position(self) -> int:
        """The position, in bytes, at which the stream ends at the latest."""

    def offer(
        self,
        data: BytesLike | list[BytesLike] | tuple[BytesLike, ...],
        *,
        reserved_value: int = 0,
        peer: int | None = None,
    ) -> int:
        """Offer as `Publication.offer`."""

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait until it is connected; raise ClosedError if it is closed."""


class PublicationAdder(Protocol[T_co]):
    """A client that adds publications."""

    def add_publication_async(self, channel: str, stream_id: int) -> PendingResult[T_co]:
        """Send the command that adds a publication."""


class ExclusivePublicationAdder(Protocol[T_co]):
    """A client that adds exclusive publications."""

    def add_exclusive_publication_async(self, channel: str, stream_id: int) -> PendingResult[T_co]:
        """Send the command that adds an exclusive publication."""


class SubscriptionAdder(Protocol[T_co]):
    """A client that adds subscriptions."""

    def add_subscription_async(
        self,
        channel: str,
        stream_id: int,
        *,
        on_available_image: ImageHandler | None = None,
        on_unavailable_image: ImageHandler | None = None,
    ) -> PendingResult[T_co]:
        """Send the command that adds a subscription."""


class CounterAdder(Protocol[T_co]):
    """A client that adds counters."""

    def add_counter_async(self, type_id: int, key: bytes = b"", label: str = "") -> PendingResult[T_co]:
        """Send the command that adds a counter."""


class InvokedClient(Protocol):
    """A client whose conductor runs in the program's loop."""

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""

    def do_work(self) -> int:
        """Run one duty cycle."""
