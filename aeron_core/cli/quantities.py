"""Sizes, durations and times on the command line; error messages name the option."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.uri.values import parse_duration_ns, parse_size

_NS_PER_S: Final = 1_000_000_000
_LONG: Final = re.compile(r"([0-9]{1,9})([mhd])")
_LONG_UNITS_NS: Final = {"m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def size_of(option: str, text: str) -> int:
    """Parse a size such as `64k`, `16m` or `1g`; return bytes."""
    try:
        return parse_size(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={error}") from None


def duration_ns_of(option: str, text: str) -> int:
    """Parse a duration such as `100ms`, `5s`, `10m`, `12h` or `7d`; return nanoseconds. The unit is required."""
    match = _LONG.fullmatch(text)
    if match is not None:
        return int(match[1]) * _LONG_UNITS_NS[match[2]]
    if text.isdecimal():
        raise ConfigurationError(f"{option}={text}: must have a unit, such as {text}s")
    try:
        return parse_duration_ns(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={error}; or m, h or d") from None


def time_ns_of(option: str, text: str, now_ns: int) -> int:
    """Return the time since the epoch for `2026-11-21T19:30`, local if it has no zone, or for `2h` ago."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now_ns - duration_ns_of(option, text)
        except ConfigurationError:
            raise ConfigurationError(
                f"{option}={text!r}: must be a time such as 2026-11-21T19:30:00Z, or an age such as 2h"
            ) from None
    # Seconds and fraction apart: a float cannot represent nanoseconds since the epoch.
    seconds = int(moment.replace(microsecond=0).timestamp())
    return seconds * _NS_PER_S + moment.microsecond * 1000


def time_text(time_ns: int | None) -> str | None:
    """Return a time in ISO 8601 format, in UTC, to the microsecond."""
    if time_ns is None:
        return None
    seconds, rest_ns = divmod(time_ns, _NS_PER_S)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest_ns // 1000)
    return moment.isoformat().replace("+00:00", "Z")
