"""Subscription of a resilient client: a `Subscription` that outlives its driver.

While there is no driver it has no images, and a poll returns 0. Not here: re-adding it (restoration).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from aeron_core.client.channel_status import ChannelStatus
from aeron_core.client.subscriptions.image import Image
from aeron_core.client.subscriptions.message_iterator import iterate
from aeron_core.client.subscriptions.subscription import Subscription
from aeron_core.errors import NotConnectedError
from aeron_core.frozen import frozen
from aeron_core.resilient.destinations import KeptDestinations
from aeron_core.resilient.resource import ResilientResource

if TYPE_CHECKING:
    from aeron_core.client.aeron import Aeron
    from aeron_core.client.channel_peers import ChannelPeer
    from aeron_core.client.handlers import ImageHandler
    from aeron_core.client.loop_bells import LoopBells
    from aeron_core.client.registrations import Registration
    from aeron_core.client.subscriptions.header import FragmentImage
    from aeron_core.client.subscriptions.image import (
        BlockHandler,
        ControlledFragmentHandler,
        FragmentHandler,
    )
    from aeron_core.client.subscriptions.message_batch import MessageBatch
    from aeron_core.concurrent.counters import CountersReader
    from aeron_core.resilient.owner import ResilientOwner


@frozen(slots=True, kw_only=True)
class ImagePosition:
    """How far one session of a stream was read."""

    session_id: int  # of the publication
    position: int | None
    """Stream position in bytes: the last one that was read, or the first one of a new image. None if it is unknown,
    because the driver had given the image's counter to another stream before the client detected its timeout."""
    initial_term_id: int  # the term id at which the stream began
    term_length: int  # length of a term in bytes
    source_identity: str
    """Address and port of the sender, or `aeron:ipc`."""

    def is_of_the_same_stream(self, other: ImagePosition) -> bool:
        """Return whether positions of both can be compared: same session, initial term id and term length."""
        return (self.session_id, self.initial_term_id, self.term_length) == (
            other.session_id,
            other.initial_term_id,
            other.term_length,
        )


class ImageTracker:
    """Images of one plain subscription, as its handlers report them. Runs the handlers of the program."""

    def __init__(
        self,
        counters: CountersReader,
        on_available: ImageHandler | None,
        on_unavailable: ImageHandler | None,
        wake: Callable[[], None],
    ) -> None:
        #: Positions of the images that were open when the client closed; complete once the plain client is closed.
        self.lost: list[ImagePosition] = []
        #: First positions of images that became available and are not reported yet.
        self.arrived: deque[ImagePosition] = deque()
        self._counters = counters
        self._on_available = on_available
        self._on_unavailable = on_unavailable
        self._wake = wake

    def on_available_image(self, image: Image) -> None:
        """Record the image. For the plain client's conductor."""
        self.arrived.append(_position_of(image, image.join_position))
        self._wake()
        if self._on_available is not None:
            self._on_available(image)

    def on_unavailable_image(self, image: Image) -> None:
        """Record the position of the image if the subscription closes. For the plain client's conductor."""
        subscription = image.subscription
        if isinstance(subscription, Subscription) and subscription.is_closed:
            is_known = self._has_counter(image, subscription.registration_id)
            self.lost.append(_position_of(image, image.position if is_known else None))
        if self._on_unavailable is not None:
            self._on_unavailable(image)

    def _has_counter(self, image: Image, registration_id: int) -> bool:
        # A driver that timed the client out has freed the counter. Its value stays until the driver reuses the id,
        # which changes the registration id first.
        return self._counters.registration_id(image.subscriber_position_id) == registration_id


def _position_of(image: Image, position: int | None) -> ImagePosition:
    return ImagePosition(
        session_id=image.session_id,
        position=position,
        initial_term_id=image.initial_term_id,
        term_length=image.term_length,
        source_identity=image.source_identity,
    )


class ResilientSubscription(ResilientResource[Subscription]):
    """A `Subscription` that is re-added after the driver or the client was lost; threads may use it as that one."""

    channel: str  # the channel URI, as added
    stream_id: int  # the stream within the channel
    on_available_image: ImageHandler | None  # called with each new image, also after a loss
    on_unavailable_image: (
        ImageHandler | None
    )  # called with each image that became unavailable, also by a loss

    def __init__(
        self,
        owner: ResilientOwner,
        current: Subscription,
        tracker: ImageTracker,
        *,
        on_available_image: ImageHandler | None,
        on_unavailable_image: ImageHandler | None,
    ) -> None:
        super().__init__(owner, current)
        self.channel = current.channel
        self.stream_id = current.stream_id
        self.on_available_image = on_available_image
        self.on_unavailable_image = on_unavailable_image
        self._destinations = KeptDestinations()
        self._tracker = tracker
        self._next_tracker = tracker
        # Images that were open at the last loss and did not return yet, by session id.
        self._lost: dict[int, ImagePosition] = {}
        # How many images are still reported as the first ones after a loss: as many as were lost.
        self._expected = 0

    @property
    def channel_status_id(self) -> int:
        """The id of the channel's status counter, -1 for IPC and spies; another one after each restart."""
        return self._current.channel_status_id

    @property
    def destinations(self) -> KeptDestinations:
        """The destinations to re-add. For the supervisor."""
        return self._destinations

    @property
    def images(self) -> tuple[Image, ...]:
        """The current images; empty while the driver is gone, and once closed."""
        return self._current.images

    @property
    def image_count(self) -> int:
        """The number of current images."""
        return self._current.image_count

    @property
    def is_connected(self) -> bool:
        """Whether at least one image is open; False while the driver is gone."""
        return self._current.is_connected

    def image_by_session_id(self, session_id: int) -> Image | None:
        """Return the first image with that session id, or None."""
        return self._current.image_by_session_id(session_id)

    @property
    def peers(self) -> list[ChannelPeer]:
        """The peers that have an image: their sessions and addresses."""
        return self._current.peers

    @property
    def channel_status(self) -> ChannelStatus:
        """State of the channel's endpoint in the driver; INITIALIZING while the driver is gone."""
        return self._current.channel_status if self.is_attached else ChannelStatus.INITIALIZING

    def local_addresses(self) -> list[str]:
        """Return `address:port` of the sockets that the driver has bound; empty while the driver is gone."""
        return self._current.local_addresses() if self.is_attached else []

    def resolved_endpoint(self) -> str | None:
        """Return the first of `local_addresses`; None while none is bound. A restart may change a port that was 0."""
        return next(iter(self.local_addresses()), None)

    def resolved_channel(self) -> str | None:
        """Return the channel, with the bound port if its endpoint has port 0; None while that is not bound."""
        return self._current.resolved_channel() if self.is_attached else None

    def await_connected(self, timeout: float | None = None) -> None:
        """Wait until an image is open, also while the driver is gone.

        Raises NotConnectedError after `timeout` seconds, None for no limit; ClosedError once closed; ClientError if it
        has to wait in a handler.
        """
        self._owner.await_until(lambda: self.is_connected or self.is_closed, timeout)
        self._check_open()
        if not self.is_connected:
            reason = "" if self.is_attached else f" ({self._owner.why()})"
            raise NotConnectedError(
                f"{self!r}: not connected within {timeout} s{reason}: start its publisher for the same channel and "
                "stream, or use a longer timeout"
            )

    def poll(self, handler: FragmentHandler, fragment_limit: int = 10) -> int:
        """Call `handler` for up to `fragment_limit` fragments, as `Subscription.poll`; 0 while the driver is gone."""
        return self._current.poll(handler, fragment_limit)

    def bounded_poll(self, handler: FragmentHandler, limit_position: int, fragment_limit: int = 10) -> int:
        """Do the same as `Subscription.bounded_poll`; return 0 while the driver is gone."""
        return self._current.bounded_poll(handler, limit_position, fragment_limit)

    def controlled_poll(self, handler: ControlledFragmentHandler, fragment_limit: int = 10) -> int:
        """Do the same as `Subscription.controlled_poll`; return 0 while the driver is gone."""
        return self._current.controlled_poll(handler, fragment_limit)

    @property
    def loop_bells(self) -> LoopBells | None:
        """See `Subscription.loop_bells`: those of the current driver."""
        return self._current.loop_bells

    def block_poll(self, handler: BlockHandler, block_length_limit: int) -> int:
        """Do the same as `Subscription.block_poll`; return 0 while the driver is gone."""
        return self._current.block_poll(handler, block_length_limit)

    def poll_batch(self, max_messages: int = 4096) -> MessageBatch:
        """Return up to `max_messages` whole messages, as `Subscription.poll_batch`; none while the driver is gone."""
        return self._current.poll_batch(max_messages)

    def poll_many(self, max_messages: int = 4096) -> list[bytes]:
        """Return up to `max_messages` whole messages, as `Subscription.poll_many`; none while the driver is gone."""
        return self._current.poll_many(max_messages)

    def messages(self, timeout: float | None = None) -> Iterator[bytes]:
        """Yield whole messages as `Subscription.messages`, also after restarts of the driver; ends once closed."""
        return iterate(self, self._owner, timeout)

    def add_destination(self, channel: str) -> int:
        """Add a destination (`control-mode=manual`) that is re-added with the subscription; return its id.

        Waits for the driver, also while it is gone, and raises as `Aeron.add_subscription`.
        """
        return self._retried(lambda current: self._add_destination(current, channel).result())

    def add_destination_async(self, channel: str) -> Registration[int]:
        """Send the command of `add_destination`; raise DriverTimeoutError while the driver is gone."""
        return self._add_destination(self._attached(), channel)

    def remove_destination(self, channel: str) -> None:
        """Remove the destination that was added with this channel; waits and raises as `add_destination`."""
        self._destinations.remove(channel)
        self._retried(lambda current: current.remove_destination(channel))

    def reject_image(self, image: FragmentImage, reason: str) -> None:
        """Do what `Image.reject` describes, for an image of this subscription."""
        self._attached().reject_image(image, reason)

    def submit(self, aeron: Aeron) -> Registration[Subscription]:
        """Send the command that adds it to another plain client. For the supervisor."""
        self._next_tracker = ImageTracker(
            aeron.counters_reader, self.on_available_image, self.on_unavailable_image, self._owner.wake
        )
        return aeron.add_subscription_async(
            self.channel,
            self.stream_id,
            on_available_image=self._next_tracker.on_available_image,
            on_unavailable_image=self._next_tracker.on_unavailable_image,
        )

    def lost_images(self) -> tuple[ImagePosition, ...]:
        """Return the images that were open at the last loss and did not return since. For the supervisor."""
        return tuple(self._lost.values())

    def take_returned(self) -> list[tuple[ImagePosition | None, ImagePosition]]:
        """Return the first images since a loss, each with the lost one of its session, if any. For the supervisor."""
        taken = []
        arrived = self._tracker.arrived
        while arrived:
            after = arrived.popleft()
            before = self._lost.pop(after.session_id, None)
            if before is not None or self._expected > 0:
                self._expected = max(self._expected - 1, 0)
                taken.append((before, after))
        return taken

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "detached"
        if not self.is_closed and self.is_attached:
            state = f"images={self.image_count}"
        return f"ResilientSubscription({self.channel!r}, {self.stream_id}, {state})"

    def _replace(self, current: Subscription) -> None:
        if self._tracker.lost:
            # Without images since the loss before, that one is still the last: its positions stay.
            self._lost = {image.session_id: image for image in self._tracker.lost}
        self._expected = len(self._lost)
        self._tracker = self._next_tracker
        self._current = current

    def _add_destination(self, current: Subscription, channel: str) -> Registration[int]:
        registration = current.add_destination_async(channel)
        self._destinations.add(channel, registration, current)
        return registration


def add_to(
    owner: ResilientOwner,
    aeron: Aeron,
    channel: str,
    stream_id: int,
    handlers: tuple[ImageHandler | None, ImageHandler | None],
) -> tuple[Registration[Subscription], Callable[[Subscription], ResilientSubscription]]:
    """Send the command that adds a subscription; return its registration, and what makes it resilient.

    `handlers`: for available and for unavailable images.
    """
    on_available, on_unavailable = handlers
    tracker = ImageTracker(aeron.counters_reader, on_available, on_unavailable, owner.wake)
    registration = aeron.add_subscription_async(
        channel,
        stream_id,
        on_available_image=tracker.on_available_image,
        on_unavailable_image=tracker.on_unavailable_image,
    )
    make = partial(
        ResilientSubscription,
        owner,
        tracker=tracker,
        on_available_image=on_available,
        on_unavailable_image=on_unavailable,
    )
    return registration, make
