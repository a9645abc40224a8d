"""UDP channel: derives addresses and the canonical form from an `aeron:udp` URI.

Not here: opening sockets, and which modes an endpoint supports (`transport`).
Source: aeron_udp_channel.c, aeron_driver_conductor.c (port checks of publications and subscriptions).
"""

from __future__ import annotations

import ipaddress
import itertools
import socket
from dataclasses import dataclass

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.spi.media import Channel, Resolve
from aeron_core.uri.channel_uri import INVALID_TAG, ChannelUri
from aeron_core.uri.endpoint_parameters import ControlMode, EndpointParameters
from aeron_media._native.interfaces import list_interfaces
from aeron_media.udp.interfaces import (
    find_interface,
    find_unicast_interface,
    index_of,
    is_multicast,
    wildcard,
)

_unique_number = itertools.count()


@dataclass(frozen=True, kw_only=True)
class UdpChannel(Channel):
    """Addresses of a UDP channel: `local` and `remote` are for data, the other two for frames of receivers.

    `remote` is the endpoint or the group, a wildcard without one; `local` the control address, else the interface.
    `interface_index`: the kernel's index of the interface of a multicast channel, else 0.
    """

    params: EndpointParameters
    local: SocketAddress
    remote: SocketAddress
    local_control: SocketAddress
    remote_control: SocketAddress
    interface_index: int = 0
    has_explicit_endpoint: bool
    has_explicit_control: bool


@dataclass(frozen=True)
class _Names:
    """The resolved addresses of a URI; None for a key that is missing."""

    endpoint: SocketAddress | None
    control: SocketAddress | None

    @property
    def family(self) -> int:
        named = self.endpoint or self.control
        return socket.AF_INET if named is None else named.family

    @property
    def has_open_port(self) -> bool:
        """Whether the URI has a port 0 or no address: then equal URIs without a tag are different channels."""
        named = [address for address in (self.endpoint, self.control) if address is not None]
        return not named or any(address.port == 0 for address in named)


def derive_channel(uri: ChannelUri, resolve: Resolve, *, is_publication: bool) -> UdpChannel:
    """Return the channel of `uri`, in any mode; `resolve` may block.

    Raises ChannelUriError for a wrong key, name, port, group or interface, OSError if the interfaces of this machine
    cannot be listed, and what `resolve` raises.
    """
    params = EndpointParameters.parse(uri)
    # The resolver gets the text unchanged: a name without a port may stand for both host and port.
    names = _Names(
        control=resolve(uri.params["control"], "control") if "control" in uri else None,
        endpoint=resolve(uri.params["endpoint"], "endpoint") if "endpoint" in uri else None,
    )
    _check_ports(uri, params, names, is_publication=is_publication)
    if names.endpoint is not None and is_multicast(names.endpoint):
        return _multicast(uri, params, names.endpoint, resolve)
    return _unicast(uri, params, names, resolve, is_publication=is_publication)


def multicast_control_address(uri: ChannelUri, group: SocketAddress) -> SocketAddress:
    """Return the group to which receivers of `group` send: the next address, on the same port.

    Raises ChannelUriError if the last byte of `group` is even.
    """
    number = int.from_bytes(group.packed, "big")
    if number & 1 == 0:
        raise uri.error(
            "Multicast data address must be odd",
            f"{group.host} is even, and receivers send to the next address: use one such as "
            f"{_host_of(number + 1, group)}",
        )
    # As in the reference, only the last byte is incremented: 255 becomes 0.
    last = (number + 1) & 0xFF
    return SocketAddress.of(_host_of(number & ~0xFF | last, group), group.port, group.scope_id)


def _host_of(number: int, group: SocketAddress) -> str:
    return str(ipaddress.ip_address(number.to_bytes(len(group.packed), "big")))


def _check_ports(uri: ChannelUri, params: EndpointParameters, names: _Names, *, is_publication: bool) -> None:
    if uri.is_spy:
        # A spy opens no socket, and the publication that it observes is checked separately.
        return
    is_multi_destination = params.control_mode in (ControlMode.MANUAL, ControlMode.DYNAMIC)
    if is_publication:
        if names.endpoint is not None and names.endpoint.port == 0 and not is_multi_destination:
            raise _open_port(uri, "endpoint has port=0 for publication")
    elif names.control is not None and names.control.port == 0:
        raise _open_port(uri, "control has port=0 for subscription")


def _open_port(uri: ChannelUri, text: str) -> ChannelUriError:
    # As in the reference, the channel directly follows the text.
    return ChannelUriError(f"{text}: channel={uri}: must be a port from 1 to 65535", ErrorCode.GENERIC_ERROR)


def _multicast(
    uri: ChannelUri, params: EndpointParameters, group: SocketAddress, resolve: Resolve
) -> UdpChannel:
    remote_control = multicast_control_address(uri, group)
    interfaces = list_interfaces()
    local = find_interface(uri, group.family, resolve, interfaces)
    return UdpChannel(
        uri=uri,
        canonical_form=f"UDP-{local}-{group}",
        is_multicast=True,
        is_group=True,
        params=params,
        local=local,
        remote=group,
        local_control=local,
        remote_control=remote_control,
        interface_index=index_of(local, interfaces),
        has_explicit_endpoint=True,
        has_explicit_control=False,
    )


def _unicast(
    uri: ChannelUri, params: EndpointParameters, names: _Names, resolve: Resolve, *, is_publication: bool
) -> UdpChannel:
    remote = names.endpoint or wildcard(names.family)
    bind_family = names.control.family if names.control is not None else remote.family
    # Found even if the control address is used instead, so that a wrong interface is reported.
    interface = find_unicast_interface(uri, bind_family, resolve)
    local = names.control or interface
    suffix = ""
    if names.has_open_port:
        tag = params.channel_tag
        suffix = f"#{tag}" if tag != INVALID_TAG else f"-{next(_unique_number)}"
    is_multi_destination = params.control_mode in (ControlMode.MANUAL, ControlMode.DYNAMIC)
    local_text, remote_text = uri.get("control", str(local)), uri.get("endpoint", str(remote))
    return UdpChannel(
        uri=uri,
        canonical_form=f"UDP-{local_text}-{remote_text}{suffix}",
        is_group=is_multi_destination,
        is_multi_destination=is_publication and is_multi_destination,
        is_manual=params.control_mode is ControlMode.MANUAL,
        elicits_setup=not is_publication and names.control is not None,
        params=params,
        local=local,
        remote=remote,
        local_control=local,
        remote_control=remote,
        has_explicit_endpoint=names.endpoint is not None,
        has_explicit_control=names.control is not None,
    )
