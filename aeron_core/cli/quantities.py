"""Sizes, durations and times on the command line, and times as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.uri.values import DURATION_UNITS, SIZE_ALLOWED, parse_duration_ns, parse_size

_NS_PER_S: Final = 1_000_000_000


def size_in_bytes(text: str) -> int:
    """Parse a size such as `64k`, `16m` or `1g`; return bytes. Raises ValueError, as typer expects."""
    try:
        return parse_size(text)
    except ConfigurationError:
        raise ValueError(SIZE_ALLOWED) from None


def size_of(option: str, text: str) -> int:
    """Parse a size such as `64k`, `16m` or `1g`; return bytes. Raises ConfigurationError, which names `option`."""
    try:
        return parse_size(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{option}={error}") from None


def duration_ns_of(option: str, text: str) -> int:
    """Parse a duration such as `100ms`, `5s`, `15min`, `12h` or `7d`; return nanoseconds.

    Raises ConfigurationError, which names `option`, for other text and if the unit is missing.
    """
    if text.isdecimal():
        raise ConfigurationError(f"{option}={text}: must have a unit, such as {text}s")
    try:
        return parse_duration_ns(text)
    except ConfigurationError:
        raise ConfigurationError(
            f"{option}={text!r}: must be a whole number with a unit {DURATION_UNITS}"
        ) from None


def time_ns_of(option: str, text: str, now_ns: int) -> int:
    """Return the ns since the epoch of a time such as `2026-11-21T19:30`, or of an age such as `2h` before `now_ns`.

    A time without a zone is local. Raises ConfigurationError, which names `option`, for other text, and for local times
    at the limits of the calendar.
    """
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
    try:
        seconds = int(moment.replace(microsecond=0).timestamp())
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"{option}={text!r}: must be a time from 0002-01-01 to 9999-12-30, or an age such as 2h"
        ) from None
    return seconds * _NS_PER_S + moment.microsecond * 1000


def time_text(time_ns: int | None) -> str | None:
    """Return a time, in ns since the epoch, in ISO 8601 format, in UTC, to the microsecond; None for None."""
    if time_ns is None:
        return None
    seconds, rest_ns = divmod(time_ns, _NS_PER_S)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest_ns // 1000)
    return moment.isoformat().replace("+00:00", "Z")
