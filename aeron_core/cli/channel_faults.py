"""Faults of a channel URI that can be found without a driver, and keys that it does not have.

Plugins are imported for media and strategies of theirs only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aeron_core._native import wire
from aeron_core._native.address import SocketAddress
from aeron_core.cli.index import MEDIA_KEYS
from aeron_core.errors import ConfigurationError, PluginError
from aeron_core.uri.addresses import parse_address
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.defaults import PublicationDefaults, SubscriptionDefaults
from aeron_core.uri.endpoint_parameters import EndpointParameters
from aeron_core.uri.keys import may_have_unknown_keys, unknown_key_text, unknown_keys
from aeron_core.uri.parameters import PublicationParameters, SubscriptionParameters

if TYPE_CHECKING:
    from aeron_core.registry import Registry

_STRATEGIES: Final = {"fc": "aeron_flow_controls", "cc": "aeron_congestion_controls"}
#: Stands for the address of every host name, which only a driver resolves.
_ANY_HOST: Final = "127.0.0.1"
#: Defaults with which our driver accepts every publication that it accepts with any settings.
_MOST_LENIENT: Final = PublicationDefaults(
    term_length=wire.TERM_MAX_LENGTH,
    ipc_term_length=wire.TERM_MAX_LENGTH,
    mtu=wire.MIN_MTU_LENGTH,
    ipc_mtu=wire.MIN_MTU_LENGTH,
)


def is_wrong_channel(channel: str, *, is_publication: bool) -> bool:
    """Return whether a channel is wrong in itself: its syntax, medium, a parameter, an address, the name of a strategy.

    False does not mean that it is right: a driver also compares channels with each other, and resolves names.
    """
    try:
        uri = ChannelUri.parse(channel)
        _check_parameters(uri, PublicationDefaults() if is_publication else None)
        _check_plugins(uri, is_publication=is_publication)
    except (ConfigurationError, PluginError):
        return True
    return False


def check_for_any_driver(channel: str, *, is_publication: bool) -> None:
    """Raise ChannelUriError or ConfigurationError if our driver refuses a channel with any settings and plugins."""
    uri = ChannelUri.parse(channel)
    if uri.is_udp or uri.is_ipc:
        _check_parameters(uri, _MOST_LENIENT if is_publication else None, compares_sockets=False)


def warnings_of_keys(uri: ChannelUri) -> Iterator[str]:
    """Yield a warning for each key that a channel has and its medium does not have; none for an unknown medium."""
    if not may_have_unknown_keys(uri):
        return
    media_keys = MEDIA_KEYS.get(uri.media)
    if media_keys is None:
        try:
            media_keys = frozenset(_registry().media(uri.media).uri_keys)
        except Exception:
            # Any error of a plugin: a warning must not end the command. A driver may have the plugin of this medium, or
            # refuses the channel.
            return
    for key in unknown_keys(uri, media_keys):
        yield unknown_key_text(key, media_keys)


def _check_parameters(
    uri: ChannelUri, publication: PublicationDefaults | None, *, compares_sockets: bool = True
) -> None:
    """Check the parameters of the core, of a publication with these defaults or else of a subscription."""
    EndpointParameters.parse(uri)
    if publication is not None:
        PublicationParameters.parse(uri, publication, compares_sockets=compares_sockets)
    else:
        SubscriptionParameters.parse(uri, SubscriptionDefaults(), compares_sockets=compares_sockets)
    if uri.is_udp:
        # The medium does not resolve the channel here: it would also compare interfaces with those of this machine.
        for key in ("endpoint", "control"):
            address = uri.get(key)
            # A name without a port is refused too, although a plugin may accept it: it is nearly always a mistake.
            if address is not None:
                parse_address(address)


def _check_plugins(uri: ChannelUri, *, is_publication: bool) -> None:
    if not uri.is_udp:
        if not uri.is_ipc:
            # The medium checks its own keys when it resolves a channel.
            _registry().media(uri.media).resolve_channel(uri, _address_of, is_publication=is_publication)
        return
    strategies = {key: text for key in _STRATEGIES if (text := uri.get(key)) is not None}
    if strategies:
        registry = _registry()
        for key, text in strategies.items():
            registry.check(_STRATEGIES[key], text)


def _registry() -> Registry:
    from aeron_core.registry import Registry  # noqa: PLC0415 - imports all plugins: only for what the core does not have

    return Registry.load()


def _address_of(text: str, _key: str) -> SocketAddress:
    return SocketAddress.of(_ANY_HOST, parse_address(text).port)
