"""Validation of command arguments before anything is sent.

A wrong type raises TypeError and a wrong value ValueError, with the name of the argument.
"""

from __future__ import annotations

import operator
from typing import Final

from aeron_core._native import wire
from aeron_core.uri.builder import ChannelUriBuilder
from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

_BYTES: Final = (bytes, bytearray, memoryview)


def channel_of(channel: object) -> str:
    """Return a string, ChannelUri or ChannelUriBuilder as text, unchecked; raise TypeError for another type."""
    if isinstance(channel, str | ChannelUri | ChannelUriBuilder):
        return str(channel)
    raise TypeError(
        f"channel={channel!r}: must be a channel URI: a string, a ChannelUri or a ChannelUriBuilder"
    )


def int32_of(value: object, name: str) -> int:
    """Return `value` as an int; raise TypeError unless it is an integer, ValueError unless it fits in an int32."""
    return _integer(value, name, INT32_MIN, INT32_MAX)


def int64_of(value: object, name: str) -> int:
    """Return `value` as an int; raise TypeError unless it is an integer, ValueError unless it fits in an int64."""
    return _integer(value, name, INT64_MIN, INT64_MAX)


def text_of(value: object, name: str) -> str:
    """Return `value`; raise TypeError unless it is a string."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{name}={value!r}: must be a string")


def bytes_of(value: object, name: str) -> bytes:
    """Return the bytes of a `bytes`, `bytearray` or `memoryview`; raise TypeError for another type."""
    if isinstance(value, _BYTES):
        return bytes(value)
    raise TypeError(f"{name}={value!r}: must be bytes, a bytearray or a memoryview")


def key_of(key: object) -> bytes:
    """Return the key of a counter as bytes; raise as `bytes_of`, and ValueError for more than 112 bytes."""
    data = bytes_of(key, "key")
    if len(data) > wire.COUNTER_KEY_MAX_LENGTH:
        raise ValueError(f"key of {len(data)} bytes: must be from 0 to {wire.COUNTER_KEY_MAX_LENGTH} bytes")
    return data


def label_of(label: object) -> str:
    """Return the label of a counter; raise as `text_of`, and ValueError for more than 380 bytes of UTF-8."""
    text = text_of(label, "label")
    length = len(text.encode())
    if length > wire.COUNTER_LABEL_MAX_LENGTH:
        raise ValueError(
            f"label of {length} bytes of UTF-8: must be from 0 to {wire.COUNTER_LABEL_MAX_LENGTH} bytes"
        )
    return text


def _integer(value: object, name: str, least: int, most: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={value!r}: must be an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number}: must be from {least} to {most}")
    return number
