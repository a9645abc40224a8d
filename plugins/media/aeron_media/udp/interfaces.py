"""Network interfaces: selects the local address for `interface=`.

Source: aeron_netutil.c (aeron_find_unicast_interface, aeron_ip_lookup_func).
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ChannelUriError
from aeron_core.spi.media import Resolve
from aeron_core.uri.addresses import INTERFACE_ALLOWED, InterfaceSpec
from aeron_core.uri.channel_uri import ChannelUri
from aeron_media._native.interfaces import Interface, list_interfaces

_FAMILY_NAMES: dict[int, str] = {socket.AF_INET: "INET", socket.AF_INET6: "INET6"}


def wildcard(family: int, port: int = 0) -> SocketAddress:
    """Return the address of all interfaces, `::` for AF_INET6, otherwise `0.0.0.0`."""
    return SocketAddress.of("::" if family == socket.AF_INET6 else "0.0.0.0", port)


def is_wildcard(address: SocketAddress) -> bool:
    """Return whether the IP address `address` is the address of all interfaces."""
    return not any(address.packed)


def is_multicast(address: SocketAddress) -> bool:
    """Return whether the IP address `address` is a multicast group."""
    return ipaddress.ip_address(address.packed).is_multicast


def find_unicast_interface(uri: ChannelUri, family: int, resolve: Resolve) -> SocketAddress:
    """Return the local address for `interface=` of `uri`; the wildcard of `family` without that key.

    A wildcard in the URI is returned with its port. Raises ChannelUriError if no interface of this machine matches or
    the value is invalid, OSError if the interfaces cannot be listed.
    """
    spec = uri.get_interface("interface", None)
    if spec is None:
        return wildcard(family)
    if not spec.is_named:
        address = _resolved(uri, spec, resolve)
        if is_wildcard(address):
            return address
    return find_interface(uri, family, resolve, list_interfaces())


def find_interface(
    uri: ChannelUri, family: int, resolve: Resolve, interfaces: Iterable[Interface]
) -> SocketAddress:
    """Return the address of the best match for `interface=` among those of `interfaces` that are up.

    An address matches only loopback interfaces and those that support multicast. The port of the result is that of the
    key, by default 0; without the key, any address of `family` matches. Raises ChannelUriError if none matches, or the
    value is invalid.
    """
    spec = uri.get_interface("interface", InterfaceSpec(host=wildcard(family).host, prefix_length=0))
    usable = [interface for interface in interfaces if interface.is_up]
    if spec.is_named:
        return _find_by_name(uri, family, spec, usable)
    wanted = _resolved(uri, spec, resolve)
    matches = [one for one in usable if _does_prefix_match(wanted, one.address, spec.prefix_length)]
    found = _best(matches)
    if found is None or found.address.family != family:
        raise _unmatched(uri, family, usable)
    return found.address.with_port(spec.port)


def index_of(address: SocketAddress, interfaces: Iterable[Interface]) -> int:
    """Return the kernel's index of the interface with `address`, 0 if `interfaces` has none.

    Raises OSError if the interface has been removed.
    """
    for interface in interfaces:
        if interface.address.packed == address.packed and (interface.address.scope_id == address.scope_id):
            return socket.if_nametoindex(interface.name)
    return 0


def _best(matches: list[Interface]) -> Interface | None:
    # As in the reference: among multicast interfaces the longest mask wins; a loopback interface is used only if no
    # multicast interface matches.
    found: Interface | None = None
    for interface in matches:
        if interface.is_loopback:
            found = found or interface
        elif interface.is_multicast and (
            found is None or found.is_loopback or interface.prefix_length > found.prefix_length
        ):
            found = interface
    return found


def _find_by_name(
    uri: ChannelUri, family: int, spec: InterfaceSpec, usable: list[Interface]
) -> SocketAddress:
    named = [interface for interface in usable if interface.name == spec.name]
    if not named:
        raise _named_fault(uri, f"unknown interface {spec.name}", "an address", usable)
    for interface in named:
        if interface.address.family == family:
            return interface.address.with_port(spec.port)
    fitting = [interface for interface in usable if interface.address.family == family]
    kind = _FAMILY_NAMES.get(family)
    raise _named_fault(
        uri, f"no {kind} addresses found on interface {spec.name}", f"an {kind} address", fitting
    )


def _named_fault(uri: ChannelUri, what: str, required: str, fitting: list[Interface]) -> ChannelUriError:
    names = ", ".join(sorted({interface.name for interface in fitting}))
    return uri.error(what, f"must be an interface that is up and has {required}: {names or 'there is none'}")


def _unmatched(uri: ChannelUri, family: int, usable: list[Interface]) -> ChannelUriError:
    found = ", ".join(
        interface.address.host
        for interface in usable
        if interface.address.family == family and (interface.is_loopback or interface.is_multicast)
    )
    return uri.error(
        f"could not find matching interface='{uri.get('interface', '')}'",
        f"must be an {_FAMILY_NAMES.get(family, 'INET')} address of an interface that is up, and is loopback or "
        f"supports multicast: {found or 'there is none'}",
    )


def _resolved(uri: ChannelUri, spec: InterfaceSpec, resolve: Resolve) -> SocketAddress:
    try:
        return resolve(_host_and_port(spec), "interface")
    except ChannelUriError as error:
        text = f"{error}: could not parse interface='{uri.get('interface', '')}': {INTERFACE_ALLOWED}"
        raise ChannelUriError(text, error.code) from None


def _host_and_port(spec: InterfaceSpec) -> str:
    return f"[{spec.host}]:{spec.port}" if spec.is_ipv6 else f"{spec.host}:{spec.port}"


def _does_prefix_match(one: SocketAddress, other: SocketAddress, prefix_length: int) -> bool:
    if one.family != other.family:
        return False
    ignored = 8 * len(one.packed) - min(prefix_length, 8 * len(one.packed))
    return int.from_bytes(one.packed, "big") >> ignored == int.from_bytes(other.packed, "big") >> ignored
