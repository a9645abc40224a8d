"""Channels of requests: the parameters that an archive uses, and which streams are the same.

Source: ArchiveConductor.strippedChannelBuilder, ArchiveConductor.makeKey.
"""

from __future__ import annotations

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
)
_KEY: Final = ("endpoint", "interface", "control", "session-id", "tags")


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
    """Return the channel of a request; raise ArchiveRefusedError if it is wrong or too long."""
    if len(channel) > _MAX_CHANNEL_LENGTH:
        raise refused(f"channel of {len(channel)} bytes: must have at most {_MAX_CHANNEL_LENGTH}")
    try:
        return ChannelUri.parse(channel)
    except ChannelUriError as error:
        raise refused(str(error)) from error


def stripped(uri: ChannelUri, more: Mapping[str, ParamValue | None] | None = None) -> ChannelUri:
    """Return the parameters that identify a stream and how it is received, with those of `more` added."""
    kept = ChannelUri(uri.media, {key: uri.params[key] for key in _KEPT if key in uri})
    return kept.with_params(more or {})


def recorded(uri: ChannelUri, *, is_local: bool) -> ChannelUri:
    """Return the channel of the subscription that records: of a local network publication, a spy."""
    return stripped(uri).replace(prefix=SPY_PREFIX if is_local and uri.is_udp else "")


def stream_key(stream_id: int, uri: ChannelUri) -> tuple[int | str, ...]:
    """Return what distinguishes the recorded streams of an archive; a stream is recorded once at a time."""
    return (stream_id, uri.media, *(uri.get(key, "") for key in _KEY))
