"""Parameters of a channel endpoint, from the channel URI: control mode, socket buffers, timestamps, tags.

Not here: addresses, which the medium resolves, and the parameters of a single stream (parameters).

Source: aeron_udp_channel.c (aeron_udp_channel_parse), aeron_driver_conductor.c (destination checks).
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from itertools import combinations
from typing import Final

from aeron_core._native import wire
from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.frozen import frozen
from aeron_core.uri.channel_uri import INVALID_TAG, ChannelUri
from aeron_core.uri.values import INT32_MAX

# Relative to the payload: the reserved value is the last field of the frame header.
RESERVED_VALUE_OFFSET: Final = wire.DATA_RESERVED_VALUE_OFFSET - wire.DATA_HEADER_LENGTH
TIMESTAMP_LENGTH: Final = 8
MAX_TTL: Final = 255

_TIMESTAMP_KEYS: Final = ("media-rcv-ts-offset", "channel-rcv-ts-offset", "channel-snd-ts-offset")
_FORBIDDEN_DESTINATION_KEYS: Final = ("mtu", "rcv-wnd", "so-rcvbuf", "so-sndbuf", "response-correlation-id")


class ControlMode(Enum):
    """Value of `control-mode` in a channel URI; any other text counts as NONE."""

    NONE = ""
    MANUAL = "manual"
    DYNAMIC = "dynamic"
    RESPONSE = "response"

    @classmethod
    def of(cls, uri: ChannelUri) -> ControlMode:
        """Return the control mode of `uri`, NONE if it sets none or an unknown one."""
        text = uri.get("control-mode", "")
        return next((mode for mode in cls if mode.value == text), cls.NONE)


@frozen(slots=True)
class EndpointParameters:
    """Parameters of a channel endpoint, lengths and offsets in bytes; for IPC only the control mode is parsed."""

    control_mode: ControlMode = ControlMode.NONE
    channel_tag: int = INVALID_TAG
    ttl: int = 0  # hops of multicast, 0 for the driver's default
    socket_sndbuf_length: int = 0  # 0 for the driver's default
    socket_rcvbuf_length: int = 0  # 0 for the driver's default
    receiver_window_length: int = 0  # 0 for the driver's default
    media_rcv_timestamp_offset: int | None = (
        None  # offset in the payload, or RESERVED_VALUE_OFFSET; None if disabled
    )
    channel_rcv_timestamp_offset: int | None = None
    channel_snd_timestamp_offset: int | None = None

    # Cached: a command needs the parameters of its channel several times, and clients add many streams to few channels.
    @classmethod
    @lru_cache(maxsize=64)
    def parse(cls, uri: ChannelUri) -> EndpointParameters:
        """Return the endpoint parameters of `uri`; raise the first ChannelUriError in the reference's order."""
        mode = ControlMode.of(uri)
        if uri.is_ipc:
            return cls(mode)
        if uri.is_udp:
            _check_udp_characteristics(uri, mode)
        channel_tag = uri.channel_tag
        _check_transport_security(uri)
        sndbuf_length = _socket_length(uri, "so-sndbuf")
        rcvbuf_length = _socket_length(uri, "so-rcvbuf")
        window_length = _socket_length(uri, "rcv-wnd")
        # Multicast hops of UDP; the key has another meaning for other media.
        ttl = _ttl(uri) if uri.is_udp else 0
        stamps = {key: _timestamp_offset(uri, key) for key in _TIMESTAMP_KEYS}
        _check_timestamps_do_not_overlap(uri, stamps)
        return cls(
            control_mode=mode,
            channel_tag=channel_tag,
            ttl=ttl,
            socket_sndbuf_length=sndbuf_length,
            socket_rcvbuf_length=rcvbuf_length,
            receiver_window_length=window_length,
            media_rcv_timestamp_offset=stamps["media-rcv-ts-offset"],
            channel_rcv_timestamp_offset=stamps["channel-rcv-ts-offset"],
            channel_snd_timestamp_offset=stamps["channel-snd-ts-offset"],
        )

    @property
    def is_response(self) -> bool:
        """Whether this is a response channel, with `control-mode=response`."""
        return self.control_mode is ControlMode.RESPONSE

    def timestamp_offset(self, key: str) -> int | None:
        """Return the payload offset in bytes, or RESERVED_VALUE_OFFSET, set by `key`; None if the URI does not set it.

        `key`: `media-rcv-ts-offset`, `channel-rcv-ts-offset` or `channel-snd-ts-offset`; another raises KeyError.
        """
        return {
            "media-rcv-ts-offset": self.media_rcv_timestamp_offset,
            "channel-rcv-ts-offset": self.channel_rcv_timestamp_offset,
            "channel-snd-ts-offset": self.channel_snd_timestamp_offset,
        }[key]


def check_destination(uri: ChannelUri, *, is_send: bool) -> None:
    """Raise ChannelUriError unless `uri` may be a destination of a publication (`is_send`) or a subscription."""
    if is_send and uri.is_spy:
        raise ChannelUriError(
            f"Aeron spies are invalid as send destinations: {uri}: must not start with aeron-spy:"
        )
    if is_send and (not uri.is_udp or "endpoint" not in uri):
        raise ChannelUriError(
            f"incorrect URI format for destination: {uri}: must be aeron:udp?endpoint=host:port",
            ErrorCode.GENERIC_ERROR,
        )
    for key in _FORBIDDEN_DESTINATION_KEYS:
        if key in uri:
            allowed = ", ".join(_FORBIDDEN_DESTINATION_KEYS)
            raise ChannelUriError(
                f"destinations must not contain the key: {key} channel={uri}: must not contain any of {allowed}",
                ErrorCode.INVALID_CHANNEL,
            )
    if uri.is_udp and ControlMode.of(uri) is ControlMode.RESPONSE:
        raise uri.error(
            "destinations may not specify control-mode=response",
            "must be manual, dynamic or left out",
            ErrorCode.INVALID_CHANNEL,
        )


def _check_udp_characteristics(uri: ChannelUri, mode: ControlMode) -> None:
    if mode is ControlMode.DYNAMIC and "control" not in uri:
        raise uri.error(
            "explicit control expected with dynamic control mode",
            "control=host:port must be given too",
            ErrorCode.INVALID_CHANNEL,
        )
    has_tag = bool(uri.get("tags", "").partition(",")[0])
    if "endpoint" in uri or "control" in uri or has_tag:
        return
    if mode not in (ControlMode.MANUAL, ControlMode.RESPONSE):
        raise ChannelUriError(
            f"URIs for UDP must specify endpoint, control, tags, or control-mode=manual/response: channel={uri}"
        )


def _check_transport_security(uri: ChannelUri) -> None:
    if uri.get_bool("ats", False):
        raise ChannelUriError(
            f"ATS is not enabled and thus ats=true not allowed: channel={uri}: must be false or left out",
            ErrorCode.GENERIC_ERROR,
        )


def _socket_length(uri: ChannelUri, key: str) -> int:
    length = uri.get_size(key, 0)
    if length > INT32_MAX:
        # The length of a socket buffer is an int; the reference would silently truncate it to 32 bits.
        raise uri.fault(key, f"must be a size from 0 to {INT32_MAX} bytes")
    return length


def _ttl(uri: ChannelUri) -> int:
    ttl = uri.get_int64("ttl", 0)
    if ttl < 0:
        raise uri.fault("ttl", f"must be a number from 0 to {MAX_TTL}")
    return min(ttl, MAX_TTL)


def _timestamp_offset(uri: ChannelUri, key: str) -> int | None:
    if uri.get(key) == "reserved":
        return RESERVED_VALUE_OFFSET
    try:
        offset = uri.get_int32(key, None)
    except ChannelUriError:
        offset = -1
    if offset is not None and offset < 0:
        raise uri.error(
            f"Invalid {key}: {uri.get(key)}",
            f"must be reserved or an offset into the payload from 0 to {INT32_MAX}",
        )
    return offset


def _check_timestamps_do_not_overlap(uri: ChannelUri, stamps: dict[str, int | None]) -> None:
    for one, other in combinations(_TIMESTAMP_KEYS, 2):
        first, second = stamps[one], stamps[other]
        if first is not None and second is not None and abs(first - second) < TIMESTAMP_LENGTH:
            raise uri.error(
                f"{one} and {other} overlap",
                f"{one}={uri.get(one)} and {other}={uri.get(other)} must be at least {TIMESTAMP_LENGTH} bytes from "
                "each other, and at most one of them reserved",
            )
