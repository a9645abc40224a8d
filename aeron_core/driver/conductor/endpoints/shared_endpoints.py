"""Choice of the channel endpoint that a channel shares: the one with its tag, else the one with its canonical form.

Channels with the same canonical form but different tags have separate endpoints. An endpoint that is being closed is
not shared. Not here: opening and closing endpoints.
Source: aeron_driver_conductor.c (aeron_driver_conductor_find_existing_…_channel_endpoint), aeron_udp_channel.c
(aeron_udp_channel_matches_tag).
"""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from aeron_core.driver.conductor.error_sink import CommandRefusedError
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.channel_uri import INVALID_TAG, ChannelUri
from aeron_core.uri.endpoint_parameters import ControlMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from aeron_core._native.address import SocketAddress
    from aeron_core.driver.conductor.endpoints.endpoint_entry import EndpointEntry
    from aeron_core.driver.conductor.endpoints.receive_endpoint_entry import ReceiveEndpointEntry
    from aeron_core.spi.media import Channel

_Entry = TypeVar("_Entry", bound="EndpointEntry")


def find_endpoint(endpoints: Mapping[str, _Entry], channel: Channel) -> _Entry | None:
    """Return the endpoint that `channel` shares, else None.

    Raises ChannelUriError if `channel` contradicts the endpoint that has its tag.
    """
    tag = channel.uri.channel_tag
    # A tag is enough: a URI such as aeron:udp?tags=1 shares the endpoint of another channel without its
    # addresses.
    if tag != INVALID_TAG:
        for endpoint in endpoints.values():
            if endpoint.tag == tag:
                _check_tagged(channel, endpoint)
                return endpoint
    for endpoint in endpoints.values():
        if endpoint.channel.canonical_form == channel.canonical_form and (
            tag == INVALID_TAG or endpoint.tag in (INVALID_TAG, tag)
        ):
            return endpoint
    return None


def key_of(endpoints: Mapping[str, object], channel: Channel) -> str:
    """Return the key of a new endpoint of `channel`: the canonical form, plus the tag if the form is in use."""
    # Two endpoints may have the same form if their tags differ, so the form alone is not a key.
    form = channel.canonical_form
    return f"{form}#{channel.uri.channel_tag}" if form in endpoints else form


class ClosingEndpoints:
    """Receive endpoints that are being closed: their addresses stay in use until the receiver has released them."""

    def __init__(self) -> None:
        self._endpoints: list[ReceiveEndpointEntry] = []

    def add(self, endpoint: ReceiveEndpointEntry) -> None:
        """Add an endpoint that is being closed."""
        self._endpoints.append(endpoint)

    def remove(self, endpoint: ReceiveEndpointEntry) -> None:
        """Remove an endpoint that the receiver has released: its memory, which may be large, is freed with it."""
        self._endpoints.remove(endpoint)

    @contextmanager
    def opening(self, channel: Channel) -> Iterator[None]:
        """Let a client retry if the address of its channel is still in use by an endpoint that is being closed.

        Open the endpoint within this context: it raises CommandRefusedError with RESOURCE_TEMPORARILY_UNAVAILABLE in
        place of the OSError. Source: aeron_driver_conductor.c, which refuses the command even if the address is free.
        """
        try:
            yield
        except OSError as error:
            # A retry helps only if this driver itself holds the address: a port of another process does not
            # become free by waiting.
            if error.errno == errno.EADDRINUSE and any(
                each.channel.canonical_form == channel.canonical_form for each in self._endpoints
            ):
                raise CommandRefusedError(
                    f"receive_channel_endpoint found in CLOSING state, please retry: {channel.uri} is being closed "
                    f"after its last use",
                    ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
                ) from error
            raise


def check_original(channel: Channel) -> None:
    """Raise ChannelUriError if the channel of a publication, for which no endpoint was found, has only a tag.

    `control-mode=manual` needs no address.
    """
    uri = channel.uri
    if (
        uri.channel_tag != INVALID_TAG
        and "endpoint" not in uri
        and "control" not in uri
        and ControlMode.of(uri) is not ControlMode.MANUAL
    ):
        raise ChannelUriError(
            f"URI must have explicit control, endpoint, or be manual control-mode when original: "
            f"channel={uri}: no publication has a channel with tag {uri.channel_tag}: first add one with this tag and "
            f"an endpoint",
            ErrorCode.GENERIC_ERROR,
        )


def check_socket_lengths(
    channel: Channel, existing: Channel, defaults: Mapping[str, int], *, requires_defaults: bool
) -> None:
    """Raise ChannelUriError if a channel asks for other socket buffer lengths than the endpoint that it shares.

    A channel that sets no length accepts any, or with `requires_defaults` asks for the default, unless that
    is 0. The keys of `defaults` are checked in their order.
    """
    for key, default in defaults.items():
        requested = channel.uri.get_size(key, 0) or (default if requires_defaults else 0)
        length = existing.uri.get_size(key, 0) or default
        if requested and requested != length:
            remedy = f"use {key}={length}" if length else f"leave {key} out"
            raise ChannelUriError(
                f"{key}={requested} does not match existing value of {length or 'OS default'}: "
                f"existingChannel={existing.uri} channel={channel.uri}: must be the same for all channels of an "
                f"endpoint, {remedy}",
                ErrorCode.GENERIC_ERROR,
            )


def _check_tagged(channel: Channel, existing: EndpointEntry) -> None:
    mode = ControlMode.of(channel.uri)
    # A URI that leaves the mode out accepts that of the endpoint.
    if mode not in (ControlMode.NONE, ControlMode.of(existing.channel.uri)):
        raise _mismatch(channel.uri, existing.channel.uri, "control-mode")
    if _is_open(channel.remote) and _is_open(channel.local):
        return
    # A peer may have moved since the endpoint was opened: its current address counts.
    if _text(channel.remote) != _text(existing.current_remote) or _text(channel.local) != _text(
        existing.current_local
    ):
        raise _mismatch(channel.uri, existing.channel.uri, "endpoint or control")


def _is_open(address: SocketAddress | None) -> bool:
    # None, or port 0 and a wildcard host: the URI leaves the address open.
    return address is None or (address.port == 0 and not any(address.packed))


def _text(address: SocketAddress | None) -> str:
    return "" if address is None else str(address)


def _mismatch(uri: ChannelUri, existing: ChannelUri, what: str) -> ChannelUriError:
    return ChannelUriError(
        f"matching tag {uri.channel_tag} has mismatched {what}: {uri} <> {existing}: must be the same as in the "
        f"existing channel, or left out",
        ErrorCode.GENERIC_ERROR,
    )
