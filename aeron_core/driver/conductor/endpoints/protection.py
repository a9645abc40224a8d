"""Security of channels: which channels may exist, and the protectors of their endpoints."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from aeron_core.concurrent import counter_types
from aeron_core.driver.conductor import stream_counters
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.spi.protection import DatagramProtector, ProtectedRole, ProtectorParams
from aeron_core.uri.channel_uri import INVALID_TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from aeron_core._native.counter import AtomicCounter
    from aeron_core.driver.conductor.context import DriverContext
    from aeron_core.settings.driver import DriverFields
    from aeron_core.settings.variables import SecurityProfile
    from aeron_core.spi.media import Channel, MediaTransport
    from aeron_core.uri.channel_uri import ChannelUri

    NewCounter = Callable[[str], AtomicCounter]

KEY = "security"


def check_shared_security(channel: Channel, existing: Channel) -> None:
    """Raise ChannelUriError if `channel` has another security than the endpoint, or none and not its tag."""
    uri, requested, has = channel.uri, channel.uri.get(KEY), existing.uri.get(KEY)
    # A tag stands for the whole channel that has it.
    if requested == has or (requested is None and uri.channel_tag != INVALID_TAG):
        return
    remedy = f"use {KEY}={has}" if has else f"leave {KEY} out"
    raise ChannelUriError(
        f"{KEY}={requested or ''} does not match that of the existing endpoint: existingChannel={existing.uri} "
        f"channel={uri}: must be the same for all channels of an endpoint: {remedy}, or use another endpoint",
        ErrorCode.GENERIC_ERROR,
    )


def check_destination_security(uri: ChannelUri, owner: ChannelUri) -> None:
    """Raise ChannelUriError if a destination asks for another security than its publication or subscription."""
    if KEY in uri and uri.get(KEY) != owner.get(KEY):
        raise ChannelUriError(
            f"{KEY}={uri.get(KEY)} in the destination {uri}: its channel is {owner}, whose security it has: "
            f"leave {KEY} out, or use the same",
            ErrorCode.GENERIC_ERROR,
        )


def profile_of(settings: DriverFields, transport: MediaTransport, uri: ChannelUri) -> SecurityProfile | None:
    """Return the profile of a new endpoint, None if its channel is plain and may be.

    Raises ChannelUriError if the settings refuse the channel or have no such profile.
    """
    name = uri.get(KEY)
    if name is None:
        if settings.security_required and transport.protects_datagrams:
            raise ChannelUriError(
                f"{uri} has no {KEY}=, but the driver has security_required=true: add {KEY}= with one of its profiles: "
                f"{_names(settings)}",
                ErrorCode.INVALID_CHANNEL,
            )
        return None
    profile = settings.security_profile(name)
    if profile is None:
        raise ChannelUriError(
            f"{KEY}={name} in {uri}: must be one of the security_profiles of the driver's settings: {_names(settings)}",
            ErrorCode.INVALID_CHANNEL,
        )
    return profile


def open_protector(
    context: DriverContext,
    profile: SecurityProfile,
    role: ProtectedRole,
    new_counter: NewCounter,
    new_refusal_counter: NewCounter,
) -> DatagramProtector:
    """Return a new protector, to be closed by `close_protector`; from now on it works in each cycle of the conductor.

    Raises PluginError if it is not installed or broken, StorageError if no counter is free, and what the protector
    raises, such as ConfigurationError for a key file that others can read.
    """
    params = ProtectorParams(
        profile=profile.name,
        options=MappingProxyType(dict(profile.options)),
        role=role,
        clock=context.clock,
        new_counter=new_counter,
        new_refusal_counter=new_refusal_counter,
    )
    protector = context.registry.datagram_protector(
        profile.protector,
        params,
        lambda error: context.errors.record_exception(error, f"datagram protector {profile.protector!r}"),
    )
    if type(protector).do_work is not DatagramProtector.do_work:
        context.working_protectors.append(protector)
    return protector


def close_protector(context: DriverContext, protector: DatagramProtector) -> None:
    """Close a protector that `open_protector` returned, after its sockets."""
    if protector in context.working_protectors:
        context.working_protectors.remove(protector)
    protector.close()


def open_resolver_protector(context: DriverContext) -> DatagramProtector | None:
    """Return the protector of what the name resolver sends to other drivers, None if it has none; raise likewise."""
    name = context.settings.resolver_security
    profile = None if name is None else context.settings.security_profile(name)
    if profile is None:
        return None

    def new_counter(name: str) -> AtomicCounter:
        return stream_counters.allocate_channel_counter(
            context.counters, counter_types.PROTECTION, name, "name resolver", -1
        )

    return open_protector(context, profile, ProtectedRole.RESOLVER, new_counter, new_counter)


def _names(settings: DriverFields) -> str:
    return ", ".join(profile.name for profile in settings.security_profiles) or "none is set"
