"""Faults of a channel URI that can be found without a driver."""

from __future__ import annotations

from typing import Final

from aeron_core._native.address import SocketAddress
from aeron_core.errors import ConfigurationError, PluginError
from aeron_core.registry import Registry
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters

_STRATEGIES: Final = {"fc": "aeron_flow_controls", "cc": "aeron_congestion_controls"}
#: Stands for the address of every host name, which only a driver resolves.
_ANY_HOST: Final = "127.0.0.1"


def is_wrong_channel(channel: str, *, is_publication: bool) -> bool:
    """Return whether a channel is wrong in itself: its syntax, medium, a parameter, an address, the name of a strategy.

    False does not mean that it is right: a driver also compares channels with each other, and resolves names.
    """
    try:
        _check(ChannelUri.parse(channel), is_publication=is_publication)
    except (ConfigurationError, PluginError):
        return True
    return False


def _check(uri: ChannelUri, *, is_publication: bool) -> None:
    EndpointParameters.parse(uri)
    if is_publication:
        PublicationParameters.parse(uri, PublicationDefaults())
    else:
        SubscriptionParameters.parse(uri, SubscriptionDefaults())
    if uri.is_udp:
        _check_udp(uri)
    elif not uri.is_ipc:
        # The medium checks its own keys when it resolves a channel.
        Registry.load().media(uri.media).resolve_channel(uri, _address_of, is_publication=is_publication)


def _check_udp(uri: ChannelUri) -> None:
    # The medium does not resolve the channel here: it would also compare interfaces with those of this machine.
    for key in ("endpoint", "control"):
        address = uri.get(key)
        if address is not None:
            parse_address(address)
    strategies = {key: text for key in _STRATEGIES if (text := uri.get(key)) is not None}
    if strategies:
        registry = Registry.load()
        for key, text in strategies.items():
            registry.check(_STRATEGIES[key], text)


def _address_of(text: str, _key: str) -> SocketAddress:
    return SocketAddress.of(_ANY_HOST, parse_address(text).port)
