"""Lengths and times on the command line, with their units, under the name of the option in messages."""

from __future__ import annotations

import re
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.values import parse_duration_ns, parse_size

_LONG: Final = re.compile(r"([0-9]{1,9})([mhd])")
_LONG_UNITS_NS: Final = {"m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def size_of(option: str, text: str) -> int:
    """Return the bytes of `64k`, `16m` or `1g`."""
    try:
        return parse_size(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={error}") from None


def duration_ns_of(option: str, text: str) -> int:
    """Return the nanoseconds of `100ms` or `5s`, and of `10m`, `12h` or `7d`; never of a number alone."""
    match = _LONG.fullmatch(text)
    if match is not None:
        return int(match[1]) * _LONG_UNITS_NS[match[2]]
    if text.isdecimal():
        raise ConfigurationError(f"{option}={text}: must have a unit, as {text}s has")
    try:
        return parse_duration_ns(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={error}; or m, h or d") from None
