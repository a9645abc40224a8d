"""The images of a driver: created when the receiver gets a SETUP of a subscribed stream, removed when they end."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

from aeron_core.driver._native import operations
from aeron_core.driver.conductor.stream_storage import StreamStorage
from aeron_core.driver.conductor.streams import Streams
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.conductor.subscriptions.image_lifecycle import ImageLifecycle
from aeron_core.driver.conductor.subscriptions.image_request import ImageRequest
from aeron_core.driver.conductor.subscriptions.new_image import image_log_params, new_image
from aeron_core.driver.receiver.image_connections import ImageConnection
from aeron_core.frozen import frozen
from aeron_core.protocol.frames.setup import Setup
from aeron_core.uri.endpoint_parameters import EndpointParameters

if TYPE_CHECKING:
    from aeron_core._native.address import SocketAddress
    from aeron_core._native.commands import Command
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.subscriptions.subscription_registrar import SubscriptionRegistrar
    from aeron_core.spi.media import Channel


#: Maximum number of SETUPs that are handled in one duty cycle. Invented: two images take 1 to 2 ms.
IMAGES_PER_CYCLE: Final = 2


@frozen(kw_only=True)
class ReceivedSetup:
    """A SETUP that the receiver passed on, with its endpoint and its source; `ttl` is that of the sender, in hops."""

    dispatcher: object
    native: object
    setup: Setup
    ttl: int
    source: SocketAddress
    control: SocketAddress


class ImageRegistrar:
    """Registrar of the images of a driver. Used by the conductor only."""

    def __init__(self, context: DriverContext, subscriptions: SubscriptionRegistrar) -> None:
        self.context = context
        self.subscriptions = subscriptions
        self.lifecycles: Streams[ImageLifecycle] = Streams()
        # Queued SETUPs by dispatcher, session id and stream id. If a subscription was replaced before the image was
        # created, the receiver passes on another SETUP of the session: the newer one replaces the older.
        self._setups: dict[tuple[object, int, int], ReceivedSetup] = {}

    def on_create_image(self, command: Command) -> None:
        """Queue the SETUP of a CREATE_IMAGE event; a later `create_waiting` creates the image."""
        setup = _setup_of(command)
        self._setups[command.subject, setup.session_id, setup.stream_id] = ReceivedSetup(
            dispatcher=command.subject,
            native=command.target,
            setup=setup,
            ttl=command.values[0],
            source=command.source.copy(),
            control=command.control.copy(),
        )

    @property
    def has_waiting(self) -> bool:
        """Whether `create_waiting` has something to do."""
        return bool(self._setups)

    def create_waiting(self) -> int:
        """Handle at most IMAGES_PER_CYCLE of the queued SETUPs; return how many.

        No image is created if its endpoint was closed, the stream is not subscribed any more, or on an error, which is
        logged: the sender's next SETUP tries again.
        """
        # An image takes the time of several commands: a burst of SETUPs must not delay the commands of clients, nor the
        # data of all streams if the agents share one thread.
        count = min(len(self._setups), IMAGES_PER_CYCLE)
        for _ in range(count):
            self._create_image(self._setups.pop(next(iter(self._setups))))
        return count

    def _create_image(self, received: ReceivedSetup) -> None:
        endpoint = next(
            (e for e in self.subscriptions.endpoints.values() if e.dispatcher is received.dispatcher), None
        )
        # The endpoint was closed while the event was in the ring, or the SETUP in the queue.
        if endpoint is None:
            return
        setup = received.setup
        try:
            self._create(endpoint, setup, received)
        except (
            Exception
        ) as error:  # any: a strategy of a plugin may fail, and the session must not keep its permit
            # No command caused the image, so there is no client to send an error to.
            self.context.errors.record_of_peer(
                error,
                f"cannot create images of stream {setup.stream_id} of {endpoint.channel.uri}",
                peer=str(received.source),
            )
            self.context.receiver.send(
                operations.FORGET_SESSION, endpoint.dispatcher, None, (setup.session_id, setup.stream_id)
            )

    def _create(self, endpoint: ReceiveEndpointEntry, setup: Setup, received: ReceivedSetup) -> None:
        linked = self.subscriptions.of_image(endpoint, setup.stream_id, setup.session_id)
        # The last subscription was removed after the receiver had passed the SETUP on.
        if not linked:
            self.context.receiver.send(
                operations.FORGET_SESSION, endpoint.dispatcher, None, (setup.session_id, setup.stream_id)
            )
            return
        # The receiver drops the frames of the session until the image exists; a reliable image then
        # requests them as a gap.
        self._check_ttl(endpoint.channel_of(received.native), received.ttl)
        request = ImageRequest(
            self.context.next_correlation_id(), endpoint, linked[0], setup, str(received.source)
        )
        connections = self._connections(endpoint, received)
        storage = StreamStorage(
            self.context, "images", request.owner, image_log_params(self.context.settings, request)
        )
        with ExitStack() as undo:
            # Until `pop_all` a failure releases the log and the counters.
            undo.callback(storage.release)
            image = new_image(self.context, request, storage, connections)
            lifecycle = ImageLifecycle(
                image, request, storage, connections, when_removed=partial(self._on_removed, endpoint)
            )
            links = reserve_links((lifecycle, each) for each in linked)
            undo.pop_all()
        self.lifecycles.add(lifecycle)
        # Keeps the endpoint open until the receiver has released the image.
        endpoint.image_count += 1
        for link in links:
            # Subscribers precede the image in the ring, so no frame arrives that they would miss.
            link.establish()
        lifecycle.start()

    def _check_ttl(self, channel: Channel, sender_ttl: int) -> None:
        ttl = EndpointParameters.parse(channel.uri).ttl or self.context.settings.socket_multicast_ttl
        if channel.is_multicast and ttl < sender_ttl:
            # Status messages may not reach the sender: its multicast frames have a higher TTL.
            self.context.system_counters.possible_ttl_asymmetry.get_and_add(1)

    def _connections(self, endpoint: ReceiveEndpointEntry, received: ReceivedSetup) -> list[ImageConnection]:
        now_ns = self.context.clock.nano_time()
        # Only the destination that received the SETUP has a source address; others get one with their first frame.
        return [
            ImageConnection(native, received.control, now_ns)
            if native is received.native
            else ImageConnection(native)
            for native in endpoint.natives
        ]

    def on_timer(self, now_ns: int) -> None:
        """Advance all images and close those that have ended."""
        for lifecycle in self.lifecycles.take_ended(now_ns):
            lifecycle.close()

    def _on_removed(self, endpoint: ReceiveEndpointEntry) -> None:
        # Called when the receiver has released the image: it lingers with its log, but no longer needs
        # the sockets.
        endpoint.image_count -= 1
        self.subscriptions.close_if_unused(endpoint)


def _setup_of(command: Command) -> Setup:
    session_id, stream_id, initial_term_id, active_term_id, term_offset, term_length, mtu, flags = (
        command.numbers
    )
    return Setup(
        session_id=session_id,
        stream_id=stream_id,
        initial_term_id=initial_term_id,
        active_term_id=active_term_id,
        term_offset=term_offset,
        term_length=term_length,
        mtu=mtu,
        flags=flags,
    )
