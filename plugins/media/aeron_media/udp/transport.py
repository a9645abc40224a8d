"""The medium `udp`: unicast, multicast, multi-destination-cast and response channels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.spi.endpoints import ReceiveChannelEndpoint, SendChannelEndpoint
from aeron_core.spi.media import (
    Channel,
    DatagramOptions,
    EndpointParams,
    MediaTransport,
    OpenDatagrams,
    ReceiveEndpointParams,
    Resolve,
    SendEndpointParams,
)
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_media.udp import send_endpoint
from aeron_media.udp.channel import UdpChannel, derive_channel
from aeron_media.udp.destinations import Destinations
from aeron_media.udp.interfaces import wildcard
from aeron_media.udp.ports import WildcardPorts
from aeron_media.udp.receive_endpoint import UdpReceiveEndpoint
from aeron_media.udp.send_endpoint import UdpSendEndpoint
from aeron_media.udp.sockets import open_datagrams

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from aeron_core._native.address import SocketAddress
    from aeron_core._native.datagrams import DatagramChannel

#: SPI version that the endpoints were compiled against; the registry reads it before it creates the medium.
AERON_CORE_SPI_VERSION: Final = send_endpoint.AERON_CORE_SPI_VERSION

_SENDER_PORTS: Final = "AERON_SENDER_WILDCARD_PORT_RANGE"
_RECEIVER_PORTS: Final = "AERON_RECEIVER_WILDCARD_PORT_RANGE"


class UdpTransport(MediaTransport):
    """The medium `udp`: resolves its channels and opens their endpoints."""

    protects_datagrams = True
    shares_batches = True

    def __init__(self) -> None:
        self._ports = WildcardPorts()

    @property
    def parameters(self) -> type[BaseModel]:
        """The URI keys that this medium reads."""
        from aeron_media.udp.parameters import UdpParameters  # noqa: PLC0415 - imports pydantic, for tools only

        return UdpParameters

    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> UdpChannel:
        """See `MediaTransport.resolve_channel`."""
        return derive_channel(uri, resolve, is_publication=is_publication)

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """See `MediaTransport.open_send_endpoint`."""
        channel = _udp_channel(params.channel)
        if channel.is_multicast:
            return self._open_to_group(params, channel)
        is_response = channel.params.is_response
        if not (channel.has_explicit_endpoint or channel.is_multi_destination or is_response):
            raise _no_destination(channel) if channel.has_explicit_control else _no_address(channel)
        destinations = None
        if channel.is_multi_destination:
            destinations = Destinations(is_manual=channel.is_manual, count=params.destination_count)
        has_one_remote = destinations is None and not is_response
        options = DatagramOptions(
            bind=channel.local_control,
            connect=channel.remote if params.connects and has_one_remote else None,
            sndbuf_length=params.sndbuf_length,
            rcvbuf_length=params.rcvbuf_length,
            wants_gso=params.uses_gso,
        )
        opener = _opener(params)
        # As in the reference, the port range is used only if the URI has a control address.
        if channel.has_explicit_control:
            opener = self._ports.opener(params.wildcard_ports, _SENDER_PORTS, opener)
        return UdpSendEndpoint(params, opener(options), channel.remote, destinations=destinations)

    def _open_to_group(self, params: SendEndpointParams, channel: UdpChannel) -> SendChannelEndpoint:
        # Two sockets, as in the reference: a data socket that is connected to the group receives no frames of
        # receivers, which come from other addresses.
        group = _multicast_options(params, channel)
        # What a protector sends to receivers goes to all of them, from either socket.
        opener = _opener(params, channel.remote)
        control = opener(replace(group, bind=channel.remote_control))
        try:
            data = opener(
                replace(
                    group,
                    bind=wildcard(channel.remote.family),
                    connect=channel.remote if params.connects else None,
                    wants_gso=params.uses_gso,
                )
            )
        except BaseException:
            control.close()
            raise
        return UdpSendEndpoint(params, data, channel.remote, control)

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """See `MediaTransport.open_receive_endpoint`."""
        channel = _udp_channel(params.channel)
        if not (channel.has_explicit_endpoint or channel.has_explicit_control or channel.params.is_response):
            raise _no_address(channel)
        stamps = EndpointParameters.parse(params.timestamps_uri)
        has_media_timestamps = stamps.media_rcv_timestamp_offset is not None
        if channel.is_multicast:
            group = replace(
                _multicast_options(params, channel),
                wants_gro=params.uses_gro and not has_media_timestamps,
                wants_media_timestamps=has_media_timestamps,
            )
            opener = _opener(params, channel.remote_control)
            return UdpReceiveEndpoint(params, opener(group), channel.remote_control)
        options = DatagramOptions(
            bind=channel.remote,
            sndbuf_length=params.sndbuf_length,
            rcvbuf_length=params.rcvbuf_length,
            # Datagrams joined by GRO share one timestamp.
            wants_gro=params.uses_gro and not has_media_timestamps,
            wants_media_timestamps=has_media_timestamps,
        )
        opener = self._ports.opener(params.wildcard_ports, _RECEIVER_PORTS, _opener(params))
        control = channel.local_control if channel.has_explicit_control else None
        return UdpReceiveEndpoint(params, opener(options), control)


def _opener(params: EndpointParams, reply_address: SocketAddress | None = None) -> OpenDatagrams:
    opener = open_datagrams if params.open_datagrams is None else params.open_datagrams
    protect, watch = params.protect, params.watch_datagrams
    # The event log gets the frames, not what is on the wire.
    if protect is not None:
        opener = _wrapped(opener, lambda datagrams: protect(datagrams, reply_address))
    return opener if watch is None else _wrapped(opener, watch)


def _wrapped(opener: OpenDatagrams, wrap: Callable[[DatagramChannel], DatagramChannel]) -> OpenDatagrams:
    return lambda options: wrap(opener(options))


def _multicast_options(params: EndpointParams, channel: UdpChannel) -> DatagramOptions:
    return DatagramOptions(
        bind=channel.remote,
        sndbuf_length=params.sndbuf_length,
        rcvbuf_length=params.rcvbuf_length,
        interface=channel.local,
        interface_index=channel.interface_index,
        multicast_ttl=channel.params.ttl or params.multicast_ttl,
    )


def _udp_channel(channel: Channel) -> UdpChannel:
    if not isinstance(channel, UdpChannel):
        raise TypeError(
            f"{channel!r} was not resolved by this medium: must be a channel that resolve_channel of "
            "UdpTransport returned"
        )
    return channel


def _no_address(channel: UdpChannel) -> ChannelUriError:
    return ChannelUriError(
        f"URI must have explicit control, endpoint, or be manual control-mode when original: "
        f"channel={channel.uri}: add endpoint=host:port"
    )


def _no_destination(channel: UdpChannel) -> ChannelUriError:
    return ChannelUriError(
        f"'control' parameter requires that either 'endpoint' or 'control-mode' is specified, "
        f"channel={channel.uri}: add endpoint=host:port, or control-mode=dynamic",
        ErrorCode.GENERIC_ERROR,
    )
