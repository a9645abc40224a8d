"""The subscriptions of a driver, and the receive endpoints that they share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aeron_core.concurrent.counters import NULL_COUNTER_ID
from aeron_core.driver import events
from aeron_core.driver.conductor.endpoints.protection import check_shared_security
from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
from aeron_core.driver.conductor.endpoints.shared_endpoints import (
    ClosingEndpoints,
    find_endpoint,
    key_of,
)
from aeron_core.driver.conductor.publications.network_publication_lifecycle import NetworkPublicationLifecycle
from aeron_core.driver.conductor.subscriber_link import reserve_links
from aeron_core.driver.conductor.subscriptions.subscription_checks import (
    check_clash,
    check_sockets,
    check_stream_count,
    check_window,
)
from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry, SubscriptionKind
from aeron_core.driver.random_bits import random_bits
from aeron_core.protocol import responses
from aeron_core.uri.channel_uri import INVALID_TAG
from aeron_core.uri.parameters import SubscriptionParameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aeron_core.driver.conductor.commands.clients import Client
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.lifecycle import StreamLifecycle
    from aeron_core.driver.conductor.publications.ipc_publication_lifecycle import IpcPublicationLifecycle
    from aeron_core.driver.conductor.subscriber_link import SubscriberLink
    from aeron_core.driver.conductor.subscriptions.image_lifecycle import ImageLifecycle
    from aeron_core.protocol.commands import AddSubscription
    from aeron_core.spi.media import Channel, MediaTransport
    from aeron_core.uri.channel_uri import ChannelUri
    from aeron_core.uri.session_ids import FindTagged


class SubscriptionRegistrar:
    """Registrar of the subscriptions of a driver and of their endpoints. Used by the conductor only."""

    def __init__(self, context: DriverContext, find_tagged: FindTagged) -> None:
        """Create an empty registrar; `find_tagged` looks up a network publication by its entity tag."""
        self.context = context
        self.all: list[SubscriptionEntry] = []
        self.endpoints: dict[str, ReceiveEndpointEntry] = {}
        self._closing = ClosingEndpoints()
        self._find_tagged = find_tagged
        # Must be unique among the receivers of one sender: starts at random, and each endpoint gets the next one.
        self._next_receiver_id = random_bits(63)

    def add_shared_memory(
        self,
        client: Client,
        command: AddSubscription,
        uri: ChannelUri,
        lifecycles: Iterable[IpcPublicationLifecycle],
    ) -> None:
        """Add a subscription to IPC streams, respond, and link those that exist.

        Raises ChannelUriError if the URI is wrong, StorageError if there are too few free counters.
        """
        params = self.params_of(uri)
        subscription = _subscription(command, params, SubscriptionKind.SHARED_MEMORY)
        # Counters may run out: reserve them all before the client gets a response.
        links = _reserve_all(subscription, lifecycles)
        self._register(client, subscription)
        self.context.clients.send(responses.OnSubscriptionReady(command.correlation_id, NULL_COUNTER_ID))
        for link in links:
            link.establish()

    def add_spy(
        self,
        client: Client,
        command: AddSubscription,
        channel: Channel,
        lifecycles: Iterable[NetworkPublicationLifecycle],
    ) -> None:
        """Add a spy on the publications of a channel, respond, and link those that exist.

        Raises ChannelUriError if the URI is wrong, StorageError if there are too few free counters.
        """
        params = self.params_of(channel.uri)
        subscription = _subscription(command, params, SubscriptionKind.SPY, spied=channel)
        # Reserved before the response, as for shared memory: the command succeeds or fails as a whole.
        links = self.reserve_links_of(subscription, lifecycles)
        self._register(client, subscription)
        self.context.clients.send(responses.OnSubscriptionReady(command.correlation_id, NULL_COUNTER_ID))
        for link in links:
            link.establish()

    def add_network(
        self,
        client: Client,
        command: AddSubscription,
        transport: MediaTransport,
        channel: Channel,
        images: Iterable[ImageLifecycle],
    ) -> None:
        """Add a subscription to streams of a channel, respond, and link the images that exist.

        Raises ChannelUriError or CommandRefusedError if the command is wrong or contradicts the endpoint or another
        subscription; PluginError, or OSError such as StorageError, if an endpoint or counter cannot be created.
        """
        params = self.params_of(channel.uri)
        self._check_congestion_control(params)
        endpoint = find_endpoint(self.endpoints, channel)
        if endpoint is None:
            if transport.has_datagrams:
                check_window(channel, params, self.context.settings)
            endpoint = self._open(command, transport, channel, params)
        else:
            transport.check_shared(channel, endpoint.channel)
            check_shared_security(channel, endpoint.channel)
            endpoint.check_timestamps(channel, "media-rcv-ts-offset", "channel-rcv-ts-offset")
            others = [each for each in self.all if each.endpoint is endpoint]
            check_clash(others, command, params)
            check_sockets(endpoint, channel, params)
            check_stream_count(others, command, transport.max_streams)
        subscription = _subscription(command, params, SubscriptionKind.NETWORK, endpoint=endpoint)
        # If this fails, there is at least one image: the endpoint has other users and need not be closed.
        links = _reserve_all(subscription, (image for image in images if image.endpoint is endpoint))
        self._register(client, subscription)
        # The receiver may request new images from now on; the conductor handles that event in a later duty cycle,
        # after the response.
        subscription.join_endpoint()
        # The response precedes all available images: clients ignore images of a subscription that they do
        # not have.
        self.context.clients.send(responses.OnSubscriptionReady(command.correlation_id, endpoint.status.id))
        for link in links:
            link.establish()

    def _open(
        self,
        command: AddSubscription,
        transport: MediaTransport,
        channel: Channel,
        params: SubscriptionParameters,
    ) -> ReceiveEndpointEntry:
        # Flow control counts receivers by this id: two with the same id would look like one with two positions.
        self._next_receiver_id += 1
        key = key_of(self.endpoints, channel)
        with self._closing.opening(channel):
            endpoint = ReceiveEndpointEntry(
                self.context,
                transport,
                channel,
                key,
                command.correlation_id,
                receiver_id=self._next_receiver_id,
                group_tag=params.group_tag,
            )
        self.endpoints[key] = endpoint
        return endpoint

    def params_of(self, uri: ChannelUri) -> SubscriptionParameters:
        """Return the parameters of a subscription. Raises ChannelUriError if its URI is wrong."""
        return SubscriptionParameters.parse(
            uri,
            self.context.settings.subscription_defaults,
            self._find_tagged,
            compares_sockets=False,
        )

    def _check_congestion_control(self, params: SubscriptionParameters) -> None:
        # The reference fails only when it creates the first image, and cannot report that to the client.
        if params.congestion_control is not None:
            self.context.registry.check("aeron_congestion_controls", params.congestion_control)

    def _register(self, client: Client, subscription: SubscriptionEntry) -> None:
        self.all.append(subscription)
        client.subscriptions[subscription.registration_id] = subscription

    def reserve_links_of(
        self, subscription: SubscriptionEntry, lifecycles: Iterable[StreamLifecycle]
    ) -> list[SubscriberLink]:
        """Return links of a local subscription to the streams that it matches and that accept it.

        Raises StorageError if there are too few free counters.
        """
        return _reserve_all(
            subscription, (lifecycle for lifecycle in lifecycles if _is_for(subscription, lifecycle))
        )

    def of_ipc(self, lifecycle: IpcPublicationLifecycle) -> list[SubscriptionEntry]:
        """Return the shared-memory subscriptions that match the ids of an IPC stream."""
        stream_id = lifecycle.stream_id
        return [
            subscription
            for subscription in self.all
            # The stream id comes first: it differs for most of them.
            if subscription.stream_id == stream_id
            and subscription.kind is SubscriptionKind.SHARED_MEMORY
            and subscription.matches(stream_id, lifecycle.session_id)
        ]

    def of_responses(self, registration_id: int, stream_id: int) -> SubscriptionEntry | None:
        """Return the IPC subscription for responses with both ids, None if there is none."""
        for subscription in self.all:
            if (
                subscription.registration_id == registration_id
                and subscription.stream_id == stream_id
                and subscription.kind is SubscriptionKind.SHARED_MEMORY
                and subscription.is_for_responses
            ):
                return subscription
        return None

    def of_spies(self, lifecycle: NetworkPublicationLifecycle) -> list[SubscriptionEntry]:
        """Return the spies on the channel and ids of a new network publication."""
        return [
            subscription
            for subscription in self.all
            if subscription.kind is SubscriptionKind.SPY
            and subscription.matches(lifecycle.stream_id, lifecycle.session_id)
            and _is_for(subscription, lifecycle)
        ]

    def of_image(
        self, endpoint: ReceiveEndpointEntry, stream_id: int, session_id: int
    ) -> list[SubscriptionEntry]:
        """Return the subscriptions of the endpoint that match the ids of a new image."""
        return [
            subscription
            for subscription in self.all
            if subscription.stream_id == stream_id
            and subscription.endpoint is endpoint
            and subscription.matches(stream_id, session_id)
        ]

    def remove(
        self, subscription: SubscriptionEntry, lifecycles: Iterable[StreamLifecycle], *, notify: bool = False
    ) -> None:
        """Remove a subscription and its local destinations, and close its endpoint if nothing else uses that.

        With `notify`, the client gets unavailable images of the subscription.
        """
        lifecycles = list(lifecycles)
        # Destinations end with their subscription. Their images are not reported as unavailable either: the client
        # closes them itself.
        for each in subscription.local_destinations:
            self.remove(each, lifecycles)
        # From here on no new stream is linked to the subscription; the links that exist are removed below.
        self.all.remove(subscription)
        self.context.events.record(
            events.REMOVE_SUBSCRIPTION_CLEANUP,
            registration_id=subscription.registration_id,
            stream_id=subscription.stream_id,
            channel=subscription.channel,
        )
        for lifecycle in lifecycles:
            # Most streams of a driver are not linked to this subscription.
            if subscription not in lifecycle.links:
                continue
            if notify:
                lifecycle.notify_unavailable_to(subscription)
            lifecycle.unlink(subscription)
        # The subscription leaves its endpoint after its links are removed. Images without readers then drain; the
        # endpoint stays open until the receiver has released them, see `is_unused`.
        subscription.leave_endpoint()
        if subscription.endpoint is not None:
            self.close_if_unused(subscription.endpoint)

    def close_if_unused(self, endpoint: ReceiveEndpointEntry) -> None:
        """Close a receive endpoint if it has neither subscriptions nor images."""
        # The second condition fails if this endpoint was closed before, even if a new one has its key now.
        if endpoint.is_unused and self.endpoints.get(endpoint.key) is endpoint:
            del self.endpoints[endpoint.key]
            # Its address stays in use until the receiver has released it.
            self._closing.add(endpoint)
            endpoint.close(partial(self._closing.remove, endpoint))

    def on_timer(self, now_ns: int) -> None:
        """Log errors of the receive endpoints, update their counters, and request SETUP frames."""
        for endpoint in self.endpoints.values():
            endpoint.keep_up(now_ns)
            endpoint.on_timer(now_ns)


def _subscription(
    command: AddSubscription,
    params: SubscriptionParameters,
    kind: SubscriptionKind,
    *,
    endpoint: ReceiveEndpointEntry | None = None,
    spied: Channel | None = None,
) -> SubscriptionEntry:
    return SubscriptionEntry(
        kind=kind,
        registration_id=command.correlation_id,
        client_id=command.client_id,
        channel=command.channel,
        stream_id=command.stream_id,
        params=params,
        endpoint=endpoint,
        spied=spied,
        is_for_responses=kind is not SubscriptionKind.SPY
        and params.is_response
        and params.session_id is None,
    )


def _is_for(subscription: SubscriptionEntry, lifecycle: StreamLifecycle) -> bool:
    spied = subscription.spied
    if spied is None or not isinstance(lifecycle, NetworkPublicationLifecycle):
        return subscription.kind is SubscriptionKind.SHARED_MEMORY
    # The reference ignores the session id of a spy with a tag; here the callers check it with `matches`.
    if spied.uri.channel_tag != INVALID_TAG and spied.uri.channel_tag == lifecycle.endpoint.tag:
        return True
    return spied.canonical_form == lifecycle.endpoint.channel.canonical_form


def _reserve_all(
    subscription: SubscriptionEntry, lifecycles: Iterable[StreamLifecycle]
) -> list[SubscriberLink]:
    return reserve_links(
        (lifecycle, subscription)
        for lifecycle in lifecycles
        if subscription.matches(lifecycle.stream_id, lifecycle.session_id) and lifecycle.accepts_subscriptions
    )
