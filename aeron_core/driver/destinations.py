"""Where publications send to: destinations that clients add and take away.

Not here: destinations that receivers make known by themselves, which the medium learns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.driver.refusal import CommandRefusedError
from aeron_core.endpoint_params import check_destination
from aeron_core.errors import ErrorCode
from aeron_core.uri import ChannelUri

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.context import DriverContext
    from aeron_core.driver.network_publications import NetworkPublications
    from aeron_core.driver.resolution import Resolution
    from aeron_core.driver.send_endpoint import SendEndpoint
    from aeron_core.protocol import commands
    from aeron_core.spi.endpoints import SendChannelEndpoint
    from aeron_core.spi.media import Channel

    Unfinished = tuple[Future[Channel], Callable[[Channel], None]]


class SendDestinations:
    """Used by the conductor only."""

    def __init__(
        self, context: DriverContext, resolution: Resolution, publications: NetworkPublications
    ) -> None:
        self._context = context
        self._resolution = resolution
        self._publications = publications

    def add(self, command: commands.AddDestination) -> Unfinished:
        """Send a publication to one more place."""
        return self._resolve(
            command, lambda native, address: native.add_destination(address, command.correlation_id)
        )

    def remove(self, command: commands.RemoveDestination) -> Unfinished:
        """Send a publication to one place less, known by its URI."""
        return self._resolve(command, lambda native, address: native.remove_destination(address))

    def remove_by_id(self, command: commands.RemoveDestinationById) -> None:
        """Send a publication to one place less, known by the command that added it."""
        endpoint = self._endpoint(command.resource_registration_id)
        is_given = endpoint.native.remove_destination_by_id(command.destination_registration_id)
        self._answer(command.correlation_id, is_given=is_given)

    def _resolve(
        self,
        command: commands.AddDestination | commands.RemoveDestination,
        order: Callable[[SendChannelEndpoint, SocketAddress], bool],
    ) -> Unfinished:
        self._endpoint(command.registration_id)
        uri = ChannelUri.parse(command.channel)
        check_destination(uri, is_send=True)
        if uri.params["endpoint"].endswith(":0"):
            raise uri.fault(
                "endpoint", "endpoint has port=0 for send destination: must be a port from 1 to 65535"
            )
        transport = self._context.registry.media(uri.media)

        def resolved(channel: Channel) -> None:
            address = channel.remote
            assert address is not None, "what has an endpoint has its address"
            # The publication may have gone while the name was looked up.
            native = self._endpoint(command.registration_id).native
            self._answer(command.correlation_id, is_given=order(native, address))

        return self._resolution.start(transport, uri, is_publication=True), resolved

    def _endpoint(self, registration_id: int) -> SendEndpoint:
        for stream in self._publications.streams:
            if stream.registration_id == registration_id:
                if not stream.endpoint.channel.is_manual:
                    raise CommandRefusedError(
                        f"channel does not allow manual control of destinations: {stream.channel} must have "
                        f"control-mode=manual"
                    )
                return stream.endpoint
        raise CommandRefusedError(
            f"unknown publication registration_id={registration_id}: must be one on a network",
            ErrorCode.UNKNOWN_PUBLICATION,
        )

    def _answer(self, correlation_id: int, *, is_given: bool) -> None:
        if not is_given:
            raise CommandRefusedError(
                "the sender has not taken earlier changes of destinations yet: try again",
                ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
            )
        self._context.clients.on_success(correlation_id)
