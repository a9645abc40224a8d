"""Options after a strategy's name in `fc=`: `key:value`, separated by commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.values import INT32_MAX

_NUMBER: Final = re.compile(r"0*[1-9][0-9]{0,9}")
_IN_URI: Final = re.compile(r"[?|]fc=([^|]*)")


def split_options(text: str) -> list[str]:
    """Return the options in `text`, separated by commas; a comma at its end is ignored."""
    parts = text.split(",")
    return parts if parts[-1] else parts[:-1]


def parse_options(text: str, *, allowed: Sequence[str], channel: str) -> dict[str, int]:
    """Return the values of the numeric options in `text` by key, the last one of a repeated key.

    Raises ChannelUriError for an option that is not allowed, and for a value that is not from 1 to 2**31 - 1.
    """
    return dict(parse_option(part, allowed=allowed, channel=channel) for part in split_options(text))


def parse_option(part: str, *, allowed: Sequence[str], channel: str) -> tuple[str, int]:
    """Return key and value, 1 to 2**31 - 1, of one numeric option; raises ChannelUriError for any other text."""
    key, separator, value = part.partition(":")
    if key not in allowed or not separator:
        raise unrecognised(part, allowed=allowed, channel=channel)
    if not _NUMBER.fullmatch(value) or int(value) > INT32_MAX:
        raise refused(
            "invalid flow control retransmit receiver window multiple",
            part,
            channel,
            f"a whole number from 1 to {INT32_MAX}",
        )
    return key, int(value)


def unrecognised(part: str, *, allowed: Sequence[str], channel: str) -> ChannelUriError:
    """Return the error for an option with an unknown key or without a value, for the caller to raise."""
    return refused("unrecognised option", part, channel, f"one of {', '.join(allowed)} with ':' and a value")


def refused(what: str, field: str, channel: str, allowed: str) -> ChannelUriError:
    """Return the error for an option, for the caller to raise; it starts with the reference's text."""
    return refused_as(f"Flow control options - {what}", field, channel, allowed)


def refused_as(text: str, field: str, channel: str, allowed: str) -> ChannelUriError:
    """Return the error for an option, for the caller to raise; it starts with `text`."""
    found = _IN_URI.search(channel)
    if found is None:
        # The options of the driver's default flow control: the URI does not choose one.
        options, remedy = field, "; correct the setting multicast_flow_control or unicast_flow_control"
    else:
        options, remedy = found[1], ""
    return ChannelUriError(
        f"{text}, field: {field}, options: {options}: must be {allowed}{remedy}: channel={channel}",
        ErrorCode.GENERIC_ERROR,
    )
