"""The medium `udp`: unicast and response channels so far."""

from __future__ import annotations

from aeron_core.endpoint_params import ControlMode
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
from aeron_core.uri import ChannelUri
from aeron_media.udp.channel import UdpChannel, derive_channel
from aeron_media.udp.parameters import UdpParameters
from aeron_media.udp.ports import WildcardPorts
from aeron_media.udp.receive_endpoint import UdpReceiveEndpoint
from aeron_media.udp.send_endpoint import UdpSendEndpoint
from aeron_media.udp.sockets import detect_gro, detect_gso, open_datagrams


class UdpTransport(MediaTransport):
    """Makes endpoints of UDP channels."""

    parameters = UdpParameters

    def __init__(self) -> None:
        self._ports = WildcardPorts()

    @property
    def supports_gso(self) -> bool:
        """Whether the kernel cuts one send into several datagrams."""
        return detect_gso()

    @property
    def supports_gro(self) -> bool:
        """Whether the kernel joins received datagrams."""
        return detect_gro()

    def resolve_channel(self, uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> UdpChannel:
        """See `MediaTransport.resolve_channel`."""
        channel = derive_channel(uri, resolve, is_publication=is_publication)
        _check_supported(channel, is_publication=is_publication)
        return channel

    def open_send_endpoint(self, params: SendEndpointParams) -> SendChannelEndpoint:
        """See `MediaTransport.open_send_endpoint`."""
        channel = _udp_channel(params.channel)
        is_response = channel.params.is_response
        if not channel.has_explicit_endpoint and not is_response:
            raise _no_address(channel)
        options = DatagramOptions(
            bind=channel.local_control,
            connect=channel.remote if params.connects and not is_response else None,
            sndbuf_length=params.sndbuf_length,
            rcvbuf_length=params.rcvbuf_length,
            wants_gso=params.uses_gso,
        )
        opener = _opener(params)
        # As in the reference: only where receivers are told the port by the URI, which names it.
        if channel.has_explicit_control:
            opener = self._ports.opener(params.wildcard_ports, opener)
        return UdpSendEndpoint(params, opener(options), channel.remote, answers=is_response)

    def open_receive_endpoint(self, params: ReceiveEndpointParams) -> ReceiveChannelEndpoint:
        """See `MediaTransport.open_receive_endpoint`."""
        channel = _udp_channel(params.channel)
        if not channel.has_explicit_endpoint and not channel.params.is_response:
            raise _no_address(channel)
        has_media_timestamps = channel.params.media_rcv_timestamp_offset is not None
        options = DatagramOptions(
            bind=channel.remote,
            sndbuf_length=params.sndbuf_length,
            rcvbuf_length=params.rcvbuf_length,
            # Datagrams that the kernel joined have one time together.
            wants_gro=params.uses_gro and not has_media_timestamps,
            wants_media_timestamps=has_media_timestamps,
        )
        opener = self._ports.opener(params.wildcard_ports, _opener(params))
        control = channel.local_control if channel.params.is_response else None
        return UdpReceiveEndpoint(params, opener(options), control)


def _opener(params: EndpointParams) -> OpenDatagrams:
    return open_datagrams if params.open_datagrams is None else params.open_datagrams


def _udp_channel(channel: Channel) -> UdpChannel:
    if not isinstance(channel, UdpChannel):
        raise TypeError(f"{channel!r} was not resolved by this medium")
    return channel


def _no_address(channel: UdpChannel) -> ChannelUriError:
    return ChannelUriError(
        f"URI must have explicit control, endpoint, or be manual control-mode when original: "
        f"{str(channel.uri)!r}"
    )


def _check_supported(channel: UdpChannel, *, is_publication: bool) -> None:
    if channel.params.is_response:
        if not channel.has_explicit_control:
            raise _no_address(channel)
        return
    if channel.params.control_mode is not ControlMode.NONE:
        raise _unsupported(channel.uri, "control-mode", "manual and dynamic")
    if channel.is_multicast:
        raise _unsupported(channel.uri, "endpoint", "multicast addresses")
    if channel.has_explicit_control and not is_publication:
        raise _unsupported(channel.uri, "control", "explicit control addresses of subscriptions")


def _unsupported(uri: ChannelUri, key: str, what: str) -> ChannelUriError:
    return uri.fault(key, f"{what} are not supported by this driver yet", ErrorCode.NOT_SUPPORTED)
