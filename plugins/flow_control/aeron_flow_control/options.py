"""Options after a strategy's name in `fc=`: `key:value`, separated by commas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from aeron_core.errors import ChannelUriError, ErrorCode
from aeron_core.uri.values import INT32_MAX

_NUMBER: Final = re.compile(r"0*[1-9][0-9]{0,9}")


def parse_options(text: str, *, allowed: Sequence[str], channel: str) -> dict[str, int]:
    """Return the numeric options by key; raises ChannelUriError for unknown keys and invalid numbers."""
    options: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        key, separator, value = part.partition(":")
        if key not in allowed or not separator:
            raise refused(
                "unrecognised option", part, channel, f"one of {', '.join(allowed)} with ':' and a number"
            )
        if not _NUMBER.fullmatch(value) or int(value) > INT32_MAX:
            raise refused(
                "invalid flow control retransmit receiver window multiple",
                part,
                channel,
                f"a number from 1 to {INT32_MAX}",
            )
        options[key] = int(value)
    return options


def refused(what: str, part: str, channel: str, allowed: str) -> ChannelUriError:
    """Return the error for an option, for the caller to raise; it starts with the reference's text."""
    return ChannelUriError(
        f"Flow control options - {what}, field: {part}, options: fc option {part!r} in {channel}: must be {allowed}",
        ErrorCode.GENERIC_ERROR,
    )
