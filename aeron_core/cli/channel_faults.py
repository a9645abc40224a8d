"""Faults of a channel URI that can be seen without a driver."""

from __future__ import annotations

from typing import Final

from aeron_core.errors import ConfigurationError, PluginError
from aeron_core.registry import Registry
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters

_STRATEGIES: Final = {"fc": "aeron_flow_controls", "cc": "aeron_congestion_controls"}


def is_wrong_channel(channel: str) -> bool:
    """Return whether a channel is wrong in itself: its syntax, a parameter, an address, the name of a strategy.

    False does not mean that it is right: a driver also compares channels with each other, and resolves names.
    """
    try:
        _check(ChannelUri.parse(channel))
    except (ConfigurationError, PluginError):
        return True
    return False


def _check(uri: ChannelUri) -> None:
    EndpointParameters.parse(uri)
    if not uri.is_spy:
        PublicationParameters.parse(uri, PublicationDefaults())
    SubscriptionParameters.parse(uri, SubscriptionDefaults())
    if not uri.is_udp:
        return
    for key in ("endpoint", "control"):
        address = uri.get(key)
        if address is not None:
            parse_address(address)
    strategies = {key: text for key in _STRATEGIES if (text := uri.get(key)) is not None}
    if strategies:
        registry = Registry.load()
        for key, text in strategies.items():
            registry.check(_STRATEGIES[key], text)
