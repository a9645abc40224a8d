"""Channels of requests: the parameters that an archive uses, and which streams are the same.

Source: ArchiveConductor.strippedChannelBuilder, ArchiveConductor.makeKey.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final

from aeron_core.archive.server.files.segment_files import refused
from aeron_core.errors import ChannelUriError
from aeron_core.frozen import frozen
from aeron_core.uri.channel_uri import SPY_PREFIX, ChannelUri, ParamValue

#: Longest channel of a recording: two of them fit into a description, whose message has at most 8 KiB on a control
#: stream of default length. An invented number.
_MAX_CHANNEL_LENGTH: Final = 2048
_KEPT: Final = (
    *(
        "endpoint",
        "interface",
        "control",
        "control-mode",
        "tags",
        "rejoin",
        "group",
        "tether",
        "fc",
        "gtag",
        "cc",
    ),
    *(
        "so-rcvbuf",
        "so-sndbuf",
        "rcv-wnd",
        "channel-snd-ts-offset",
        "channel-rcv-ts-offset",
        "media-rcv-ts-offset",
    ),
    *("session-id", "alias", "response-correlation-id", "response-endpoint", "ttl", "stream-id"),
    "security",  # not of the reference: without it, a stream that a client wants encrypted would be sent in clear
)
_KEY: Final = ("endpoint", "interface", "control", "session-id", "tags", "security")
#: Longest term of a response stream, in bytes. An invented number: messages of 128 KiB, and no client fills memory.
MAX_RESPONSE_TERM_LENGTH: Final = 1024 * 1024
_DEFAULT_RESPONSE_TERM_LENGTH: Final = 64 * 1024


@frozen(slots=True, kw_only=True)
class StreamRequest:
    """What a request says of a stream to record."""

    key: tuple[int | str, ...]  # of `stream_key`
    uri: ChannelUri
    channel: str  # as it was requested
    stream_id: int
    is_local: bool
    is_auto_stop: bool
    recording_id: int | None = None  # that it continues; None: each image becomes a new one


def parse(channel: str) -> ChannelUri:
    """Return the channel of a request; raise ArchiveRefusedError if it is wrong, too long, or not ASCII."""
    check_text("channel", channel)
    try:
        return ChannelUri.parse(channel)
    except ChannelUriError as error:
        raise refused(str(error)) from error


def check_text(name: str, text: str) -> None:
    """Raise ArchiveRefusedError unless a text fits into the descriptions of the catalogue, which are ASCII."""
    if len(text) > _MAX_CHANNEL_LENGTH or not text.isascii():
        raise refused(
            f"{name} of {len(text)} bytes: must have at most {_MAX_CHANNEL_LENGTH}, all of them ASCII"
        )


def stripped(uri: ChannelUri, more: Mapping[str, ParamValue | None] | None = None) -> ChannelUri:
    """Return the parameters that identify a stream and how it is received, with those of `more` added."""
    kept = ChannelUri(uri.media, {key: uri.params[key] for key in _KEPT if key in uri})
    return kept.with_params(more or {})


def responses(uri: ChannelUri, *, is_local: bool) -> ChannelUri:
    """Return the channel of a response stream: with terms that take little memory, whatever the client asks for.

    `is_local`: whether the client uses the driver of the archive. Raises ArchiveRefusedError for a channel that would
    do more than send to the client: bind a port, connect, or join a stream of another program.
    """
    is_sent_only = uri.is_udp and "endpoint" in uri and not uri.params.keys() & {"control", "control-mode"}
    if uri.is_spy or not ((uri.is_ipc and is_local) or (uri.is_udp and is_response(uri)) or is_sent_only):
        raise refused(
            f"response channel {uri}: must be aeron:udp with an endpoint and without control, or with "
            "control-mode=response; aeron:ipc only from clients of the same driver"
        )
    try:
        length = uri.get_size("term-length", _DEFAULT_RESPONSE_TERM_LENGTH)
    except ChannelUriError as error:
        raise refused(str(error)) from error
    more = {"term-length": min(length, MAX_RESPONSE_TERM_LENGTH), "sparse": True, "mtu": uri.get("mtu")}
    return stripped(uri, more | {"tags": None})


def is_response(uri: ChannelUri) -> bool:
    """Return whether a channel is a response channel, at whose control address the archive waits for the client."""
    return uri.get("control-mode") == "response"


def sends_back(uri: ChannelUri, source_identity: str) -> bool:
    """Return whether a response stream is sent to the host with the address `source_identity` or to no other one."""
    address = uri.get_address("endpoint", None)
    if address is None:
        return True
    try:
        source = ipaddress.ip_address(source_identity.rpartition(":")[0].strip("[]"))
        if address.host == "localhost":
            return source.is_loopback
        return source == ipaddress.ip_address(address.host)
    except ValueError:
        return False  # a name


def is_name(uri: ChannelUri) -> bool:
    """Return whether the address of a response channel is a name, which must be resolved.

    Raises ArchiveRefusedError for a multicast address, or a malformed one.
    """
    key = "control" if is_response(uri) else "endpoint"
    try:
        address = uri.get_address(key, None)
    except ChannelUriError as error:
        raise refused(str(error)) from error
    if address is None or address.host == "localhost":
        return False
    try:
        found = ipaddress.ip_address(address.host.partition("%")[0])
    except ValueError:
        return True
    if found.is_multicast:
        raise refused(f"{key}={address}: must not be multicast without accepted credentials")
    return False


def secured_as(uri: ChannelUri, other: ChannelUri) -> ChannelUri:
    """Return `uri` with the security of another channel, if that has one and `uri` has none."""
    profile = other.get("security")
    return (
        uri
        if profile is None or "security" in uri or not uri.is_udp
        else uri.with_params({"security": profile})
    )


def recorded(uri: ChannelUri, *, is_local: bool) -> ChannelUri:
    """Return the channel of the subscription that records: of a local network publication, a spy."""
    return stripped(uri).replace(prefix=SPY_PREFIX if is_local and uri.is_udp else "")


def stream_key(stream_id: int, uri: ChannelUri) -> tuple[int | str, ...]:
    """Return what distinguishes the recorded streams of an archive; a stream is recorded once at a time."""
    return (stream_id, uri.media, *(uri.get(key, "") for key in _KEY))
