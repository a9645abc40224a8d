"""Destinations of manual multi-destination publications, which clients add and remove.

Not here: dynamic destinations, which the medium takes from status messages.
Invariant: a change is confirmed only after the endpoint has accepted it; otherwise its command is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core._native.address import SocketAddress
from aeron_core.driver.conductor.endpoints.protection import check_destination_security
from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendDestination
from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.spi.media import Channel
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.endpoint_parameters import check_destination

if TYPE_CHECKING:
    from concurrent.futures import Future

    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.driver.conductor.endpoints.send_endpoint_entry import SendEndpointEntry
    from aeron_core.driver.conductor.names.name_resolution import NameResolution, Unfinished
    from aeron_core.driver.conductor.publications.network_publication_registrar import (
        NetworkPublicationRegistrar,
    )
    from aeron_core.protocol import commands


class SendDestinations:
    """Handler of commands on destinations of publications. Used by the conductor only."""

    def __init__(
        self, context: DriverContext, resolution: NameResolution, publications: NetworkPublicationRegistrar
    ) -> None:
        self._context = context
        self._resolution = resolution
        self._publications = publications

    def add(self, command: commands.AddDestination) -> Unfinished:
        """Return the unfinished command that adds a destination once its channel is resolved.

        A destination with an unknown name is added too; it is used as soon as the name can be resolved. Raises
        ChannelUriError if the URI is wrong. The call and the continuation raise CommandRefusedError if the publication
        is unknown or not manual, the continuation also if the endpoint cannot take the change now.
        """
        # Refuse at once what cannot succeed, before a lookup that may take seconds.
        self._endpoint(command.registration_id)
        uri = self._destination_of(command.channel)
        self._context.unknown_keys.report(uri, self._context.registry.media(uri.media))

        def resolved(channel: Channel) -> None:
            # The publication may have been removed during the lookup.
            endpoint = self._endpoint(command.registration_id)
            check_destination_security(uri, endpoint.channel.uri)
            name, address = uri.params["endpoint"], channel.remote
            self._answer(
                command.correlation_id,
                is_given=endpoint.native.add_destination(address or SocketAddress(), command.correlation_id),
            )
            # As in the reference, an unknown name is not an error: it is looked up again until it has an address.
            endpoint.destinations[command.correlation_id] = SendDestination(name, address)

        return self._resolve(uri), resolved

    def remove(self, command: commands.RemoveDestination) -> Unfinished | None:
        """Remove the newest destination with the name in the URI, else with its address, if there is one.

        Returns None if the name was found, else the unfinished command that compares the resolved address. Raises
        ChannelUriError if the URI is wrong. The call and the continuation raise CommandRefusedError if the publication
        is unknown or not manual, or the endpoint cannot take the change now.
        """
        endpoint = self._endpoint(command.registration_id)
        uri = self._destination_of(command.channel)
        # Compare names first: the address of a name may have changed.
        for registration_id, destination in reversed(endpoint.destinations.items()):
            if destination.name == uri.params["endpoint"]:
                self._remove(command.correlation_id, endpoint, registration_id)
                return None

        def resolved(channel: Channel) -> None:
            endpoint = self._endpoint(command.registration_id)
            for registration_id, destination in reversed(endpoint.destinations.items()):
                if destination.address is not None and destination.address == channel.remote:
                    self._remove(command.correlation_id, endpoint, registration_id)
                    return
            self._context.clients.on_success(command.correlation_id)

        return self._resolve(uri), resolved

    def remove_by_id(self, command: commands.RemoveDestinationById) -> None:
        """Remove the destination that the command with a registration id added, if it is there.

        Raises CommandRefusedError if the publication is unknown or not manual, or the endpoint cannot take the change
        now.
        """
        endpoint = self._endpoint(command.resource_registration_id)
        self._remove(command.correlation_id, endpoint, command.destination_registration_id)

    def _remove(self, correlation_id: int, endpoint: SendEndpointEntry, registration_id: int) -> None:
        # The sender owns the list of destinations. If its queue is full, nothing has changed and the
        # client may retry.
        is_given = endpoint.native.remove_destination_by_id(registration_id)
        self._answer(correlation_id, is_given=is_given)
        endpoint.destinations.pop(registration_id, None)

    def _destination_of(self, channel: str) -> ChannelUri:
        uri = ChannelUri.parse(channel)
        # `media_of` raises for an unknown medium, which has another error code than a medium without destinations.
        self._context.media_of(uri)
        return _checked(uri)

    def _resolve(self, uri: ChannelUri) -> Future[Channel]:
        transport = self._context.registry.media(uri.media)
        return _or_unresolved(self._resolution.resolve(transport, uri, is_publication=True), uri)

    def _endpoint(self, registration_id: int) -> SendEndpointEntry:
        for lifecycle in self._publications.lifecycles:
            if lifecycle.registration_id == registration_id:
                if not lifecycle.endpoint.channel.is_manual:
                    raise CommandRefusedError(
                        f"channel does not allow manual control of destinations: "
                        f"publication_registration_id={registration_id}: {lifecycle.channel} must have "
                        f"control-mode=manual"
                    )
                return lifecycle.endpoint
        raise CommandRefusedError(
            f"unknown publication registration_id={registration_id}: must be that of a network publication of this "
            f"driver with control-mode=manual that was not removed",
            ErrorCode.UNKNOWN_PUBLICATION,
        )

    def _answer(self, correlation_id: int, *, is_given: bool) -> None:
        if not is_given:
            raise CommandRefusedError(
                "the sender has not processed earlier changes of destinations: try again",
                ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
            )
        self._context.clients.on_success(correlation_id)


def _checked(uri: ChannelUri) -> ChannelUri:
    check_destination(uri, is_send=True)
    # Port 0 lets the operating system choose when a socket is bound; a frame cannot be sent to it.
    port = uri.params["endpoint"].rpartition(":")[2]
    if port and not port.strip("0"):
        raise ChannelUriError(
            f"endpoint has port=0 for send destination: channel={uri}: the port must be from 1 to 65535",
            ErrorCode.GENERIC_ERROR,
        )
    return uri


def _or_unresolved(future: Future[Channel], uri: ChannelUri) -> Future[Channel]:
    """Return a future of the channel; it has no address if the name is unknown."""
    from concurrent.futures import Future  # noqa: PLC0415 - slow to import: only channels of networks need it

    # The callback may run on the thread of the lookup, so it only fills a future, which the conductor polls.
    settled: Future[Channel] = Future()

    def settle(done: Future[Channel]) -> None:
        error = done.exception()
        if error is None:
            settled.set_result(done.result())
        elif isinstance(error, ChannelUriError) and error.code is ErrorCode.UNKNOWN_HOST:
            settled.set_result(Channel(uri=uri, canonical_form=str(uri)))
        else:
            settled.set_exception(error)

    future.add_done_callback(settle)
    return settled
