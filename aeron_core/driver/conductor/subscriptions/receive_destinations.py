"""Destinations of subscriptions with `control-mode=manual`, which clients add and remove.

A UDP destination is a socket of the subscription's endpoint. A destination in shared memory or a spy is an additional
subscription with the registration id of the first.
Source: aeron_driver_conductor.c (aeron_driver_conductor_on_add_receive_…_destination and their removals).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.driver.conductor.subscriptions.subscription_entry import SubscriptionEntry, SubscriptionKind
from aeron_core.driver.receiver.image_connections import ImageConnection
from aeron_core.errors import ErrorCode
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.endpoint_parameters import check_destination

if TYPE_CHECKING:
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.driver.conductor.names.name_resolution import NameResolution, Unfinished
    from aeron_core.driver.conductor.registrars import Registrars
    from aeron_core.protocol.commands import AddRcvDestination, RemoveRcvDestination
    from aeron_core.spi.media import Channel, MediaTransport
    from aeron_core.uri.parameters import SubscriptionParameters


class ReceiveDestinations:
    """Handler of commands on destinations of subscriptions. Used by the conductor only."""

    def __init__(self, context: DriverContext, resolution: NameResolution, registrars: Registrars) -> None:
        self._context = context
        self._resolution = resolution
        self._registrars = registrars

    def add(self, command: AddRcvDestination) -> Unfinished | None:
        """Add a destination: an address, shared memory or a spy.

        Returns None for shared memory, else the unfinished command that continues with the resolved channel. The call
        or the continuation raises CommandRefusedError if the subscription is unknown or not manual, ChannelUriError if
        the URI is wrong, OSError if the socket cannot be opened, StorageError if no counter is free.
        """
        uri = ChannelUri.parse(command.channel)
        transport = self._context.media_of(uri)
        self._context.unknown_keys.report(uri, transport)
        if uri.is_spy:
            self._params(uri)
            return self._resolution.resolve(
                transport, uri, is_publication=True
            ), lambda channel: self._add_local(command, SubscriptionKind.SPY, channel.uri, channel)
        if transport.is_shared_memory:
            self._add_local(command, SubscriptionKind.SHARED_MEMORY, uri)
            return None
        future = self._resolution.resolve(transport, uri, is_publication=False)
        return future, lambda channel: self._add_network(command, transport, channel)

    def _add_network(self, command: AddRcvDestination, transport: MediaTransport, channel: Channel) -> None:
        # The order is that of the reference: an unknown subscription is reported before a wrong key.
        endpoint = self._endpoint(command)
        # Only the URI of a socket is checked for other parameters than addresses; shared memory and spies ignore them.
        check_destination(channel.uri, is_send=False)
        # Images of the endpoint get the new socket too: a sender may use several paths to one image.
        endpoint.add_destination(transport, channel, command.registration_id)
        for image in self._registrars.images.lifecycles:
            if image.endpoint is endpoint:
                image.add_connection(ImageConnection(endpoint.destinations[-1].native))
        self._context.clients.on_success(command.correlation_id)

    def _add_local(
        self,
        command: AddRcvDestination,
        kind: SubscriptionKind,
        uri: ChannelUri,
        spied: Channel | None = None,
    ) -> None:
        params = self._params(uri)
        owner = self._owner(command)
        local = SubscriptionEntry(
            kind=kind,
            registration_id=owner.registration_id,
            client_id=owner.client_id,
            channel=command.channel,
            stream_id=owner.stream_id,
            params=params,
            spied=spied,
        )
        subscriptions = self._registrars.subscriptions
        lifecycles = self._registrars.network.lifecycles if spied else self._registrars.ipc.lifecycles
        # Reserved before the entry is registered: a failure leaves no trace.
        links = subscriptions.reserve_links_of(local, lifecycles)
        subscriptions.all.append(local)
        # The entries of this list are removed with the owner; a client can remove one by its URI.
        owner.local_destinations.append(local)
        self._context.clients.on_success(command.correlation_id)
        # Linked after the response: the client must have the destination before its images.
        for link in links:
            link.establish()

    def remove(self, command: RemoveRcvDestination) -> Unfinished | None:
        """Remove a destination; an unknown address is ignored.

        Returns the unfinished command of an address, which has to be resolved first, else None. The call or the
        continuation raises ChannelUriError if the URI is wrong, and CommandRefusedError if the subscription is unknown,
        has no such spy or shared memory, or is not manual, which is checked for addresses only.
        """
        uri = ChannelUri.parse(command.channel)
        transport = self._context.media_of(uri)
        if uri.is_spy or transport.is_shared_memory:
            self._remove_local(command)
            return None
        future = self._resolution.resolve(transport, uri, is_publication=False)
        return future, lambda channel: self._remove_network(command, channel)

    def _remove_network(self, command: RemoveRcvDestination, channel: Channel) -> None:
        endpoint = self._endpoint(command)
        destination = next((each for each in endpoint.destinations if each.is_at(channel)), None)
        if destination is not None:
            for image in self._registrars.images.lifecycles:
                # Images stop sending over the socket before it is closed; the order in the ring ensures
                # that.
                image.remove_connection(destination.native)
            endpoint.remove_destination(destination)
        self._context.clients.on_success(command.correlation_id)

    def _remove_local(self, command: RemoveRcvDestination) -> None:
        owner = self._find(command)
        local = next((each for each in owner.local_destinations if each.channel == command.channel), None)
        if local is None:
            raise _unknown(command)
        owner.local_destinations.remove(local)
        self._context.clients.on_success(command.correlation_id)
        # The client keeps the subscription, so it must be notified of the images that end with the destination.
        self._registrars.subscriptions.remove(local, self._registrars.lifecycles(), notify=True)

    def _params(self, uri: ChannelUri) -> SubscriptionParameters:
        return self._registrars.subscriptions.params_of(uri)

    def _endpoint(self, command: AddRcvDestination | RemoveRcvDestination) -> ReceiveEndpointEntry:
        endpoint = self._owner(command).endpoint
        assert endpoint is not None
        return endpoint

    def _owner(self, command: AddRcvDestination | RemoveRcvDestination) -> SubscriptionEntry:
        owner = self._find(command)
        if owner.endpoint is None or not owner.endpoint.has_destinations:
            raise CommandRefusedError(
                f"channel does not allow manual control: {owner.channel} must have control-mode=manual",
                ErrorCode.INVALID_CHANNEL,
            )
        return owner

    def _find(self, command: AddRcvDestination | RemoveRcvDestination) -> SubscriptionEntry:
        for subscription in self._registrars.subscriptions.all:
            if (
                subscription.registration_id == command.registration_id
                and subscription.kind is SubscriptionKind.NETWORK
            ):
                return subscription
        raise _unknown(command)


def _unknown(command: AddRcvDestination | RemoveRcvDestination) -> CommandRefusedError:
    return CommandRefusedError(
        f"unknown subscription client_id={command.client_id} registration_id={command.registration_id} with "
        f"destination {command.channel}: must be a network subscription of this driver that was not removed, and a "
        f"destination to remove must have the same text as when it was added",
        ErrorCode.UNKNOWN_SUBSCRIPTION,
    )
