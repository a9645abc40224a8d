"""The medium `ipc`: publications and subscriptions of one driver share the log buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aeron_core.errors import ConfigurationError
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.media import Channel, MediaTransport, ReceiveEndpointParams, Resolve, SendEndpointParams
from aeron_core.uri.channel_uri import ChannelUri

if TYPE_CHECKING:
    from pydantic import BaseModel


class IpcTransport(MediaTransport):
    """A medium without endpoints: the driver links subscribers to the log buffer of the publication."""

    is_shared_memory = True

    @property
    def parameters(self) -> type[BaseModel]:
        """The parameters of IPC: none of its own."""
        from aeron_media.ipc.parameters import IpcParameters  # noqa: PLC0415 - imports pydantic, for tools only

        return IpcParameters

    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> Channel:
        """Return the channel of `uri`; all IPC channels have the same canonical form. `resolve` is not called."""
        return Channel(uri=uri, canonical_form="IPC")

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """Raise ConfigurationError: IPC has no endpoints."""
        raise _no_endpoints(params.channel)

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """Raise ConfigurationError: IPC has no endpoints."""
        raise _no_endpoints(params.channel)

    def local_addresses(self, endpoint: object) -> list[str]:
        """Return an empty list: there is no address."""
        return []

    def close_endpoint(self, endpoint: object) -> None:
        """Do nothing: there is no endpoint."""


def _no_endpoints(channel: Channel) -> ConfigurationError:
    return ConfigurationError(
        f"{channel.uri} has no endpoints, because IPC shares the log buffer: open none if `is_shared_memory` of "
        "the transport is true"
    )
