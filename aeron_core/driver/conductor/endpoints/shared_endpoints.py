"""Which channel endpoint a channel shares: that with its tag, else that with its canonical form.

Two endpoints with one canonical form and two different tags are two; one that is being closed is shared by nobody. Not
here: opening and closing them.
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
    """Return the endpoint that `channel` is to share; ChannelUriError where its tag and its text disagree."""
    tag = channel.uri.channel_tag
    if tag != INVALID_TAG:
        for endpoint in endpoints.values():
            if endpoint.tag == tag:
                _check_tagged(channel, endpoint.channel)
                return endpoint
    for endpoint in endpoints.values():
        if endpoint.channel.canonical_form == channel.canonical_form and (
            tag == INVALID_TAG or endpoint.tag in (INVALID_TAG, tag)
        ):
            return endpoint
    return None


def key_of(endpoints: Mapping[str, object], channel: Channel) -> str:
    """Return the key for a new endpoint: its canonical form, with its tag where another one has that form."""
    form = channel.canonical_form
    return f"{form}#{channel.uri.channel_tag}" if form in endpoints else form


class ClosingEndpoints:
    """The receiving endpoints that the receiver has not let go of yet, and that hold their addresses until then."""

    def __init__(self) -> None:
        self._endpoints: list[ReceiveEndpointEntry] = []

    def add(self, endpoint: ReceiveEndpointEntry) -> None:
        """Take note of an endpoint that is being closed."""
        self._endpoints = [each for each in self._endpoints if not each.is_closed]
        self._endpoints.append(endpoint)

    @contextmanager
    def opening(self, channel: Channel) -> Iterator[None]:
        """Have a client try again where the address of a channel is taken by a former endpoint of that channel.

        Source: aeron_driver_conductor.c, which refuses also where the address would be free.
        """
        try:
            yield
        except OSError as error:
            if error.errno == errno.EADDRINUSE and any(
                not each.is_closed and each.channel.canonical_form == channel.canonical_form
                for each in self._endpoints
            ):
                raise CommandRefusedError(
                    f"{channel.uri} is being closed after its last use: try again",
                    ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
                ) from error
            raise


def check_original(channel: Channel) -> None:
    """Refuse to open an endpoint for a publication whose tag was to name one that is there."""
    uri = channel.uri
    if (
        uri.channel_tag != INVALID_TAG
        and "endpoint" not in uri
        and "control" not in uri
        and ControlMode.of(uri) is not ControlMode.MANUAL
    ):
        raise ChannelUriError(
            f"URI must have explicit control, endpoint, or be manual control-mode when original: "
            f"{str(uri)!r}: no channel has tag {uri.channel_tag}",
            ErrorCode.GENERIC_ERROR,
        )


def check_socket_lengths(
    channel: Channel, existing: Channel, defaults: Mapping[str, int], *, asks_for_defaults: bool
) -> None:
    """Refuse a channel that asks for other socket buffers than those of the endpoint that it is to share.

    One that names no lengths asks for none, or with `asks_for_defaults` for those.
    """
    for key in ("so-sndbuf", "so-rcvbuf"):
        asked = channel.uri.get_size(key, 0) or (defaults[key] if asks_for_defaults else 0)
        length = existing.uri.get_size(key, 0) or defaults[key]
        if asked and asked != length:
            raise ChannelUriError(
                f"{key}={asked} of {channel.uri} does not match existing value of {length or 'OS default'}: "
                f"must be as in {existing.uri}",
                ErrorCode.GENERIC_ERROR,
            )


def _check_tagged(channel: Channel, existing: Channel) -> None:
    mode = ControlMode.of(channel.uri)
    if mode not in (ControlMode.NONE, ControlMode.of(existing.uri)):
        raise _mismatch(channel.uri, existing.uri, "control-mode")
    if _is_open(channel.remote) and _is_open(channel.local):
        return
    if _text(channel.remote) != _text(existing.remote) or _text(channel.local) != _text(existing.local):
        raise _mismatch(channel.uri, existing.uri, "endpoint or control")


def _is_open(address: SocketAddress | None) -> bool:
    return address is None or (address.port == 0 and not any(address.packed))


def _text(address: SocketAddress | None) -> str:
    return "" if address is None else str(address)


def _mismatch(uri: ChannelUri, existing: ChannelUri, what: str) -> ChannelUriError:
    return uri.fault(
        "tags",
        f"matching tag {uri.channel_tag} has mismatched {what}: must be as in {existing}, or left out",
        ErrorCode.GENERIC_ERROR,
    )
