"""Sizes, durations and times on the command line, and times as text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.uri.values import (
    DURATION_UNITS,
    INT64_MAX,
    SIZE_ALLOWED,
    format_duration_ns,
    parse_duration_ns,
    parse_size,
    shown,
)

_NS_PER_S: Final = 1_000_000_000
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
#: Longest wait: 31 years. Invented; system calls that wait accept at most 292 years.
_MAX_WAIT_NS: Final = 10**9 * _NS_PER_S
_DURATION_ALLOWED: Final = f"must be a whole number with a unit {DURATION_UNITS}, or a number of seconds"


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


def duration_ns(text: str) -> int:
    """Parse a duration such as `100ms`, `5s` or `15min`, or a number of seconds such as `5` or `0.5`; return ns.

    Raises ValueError, as typer expects, for other text. A duration beyond 292 years is 292 years.
    """
    if _SECONDS.fullmatch(text):
        return round(min(float(text) * _NS_PER_S, INT64_MAX))
    try:
        return parse_duration_ns(text)
    except ConfigurationError:
        raise ValueError(_DURATION_ALLOWED) from None


def wait_s(text: str) -> float:
    """Parse a duration like `duration_ns`; return seconds. Raises ValueError also for more than 31 years."""
    wait_ns = duration_ns(text)
    if wait_ns > _MAX_WAIT_NS:
        raise ValueError(f"must be at most {format_duration_ns(_MAX_WAIT_NS)}")
    return wait_ns / _NS_PER_S


def duration_ns_of(option: str, text: str) -> int:
    """Parse a duration like `duration_ns`; return ns. Raises ConfigurationError, which names `option`."""
    try:
        return duration_ns(text)
    except ValueError as error:
        raise ConfigurationError(f"{option}={shown(text)!r}: {error}") from None


def age_ns_of(option: str, text: str) -> int:
    """Parse an age such as `15min`, `12h` or `7d`; return nanoseconds.

    Raises ConfigurationError, which names `option`, for other text. A unit is required: data is deleted by its age, and
    seconds would be a surprise.
    """
    if text.isdecimal():
        raise ConfigurationError(f"{option}={shown(text)}: must have a unit, such as d for days")
    try:
        return parse_duration_ns(text)
    except ConfigurationError:
        raise ConfigurationError(
            f"{option}={shown(text)!r}: must be a whole number with a unit {DURATION_UNITS}"
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
            return now_ns - age_ns_of(option, text)
        except ConfigurationError:
            raise ConfigurationError(
                f"{option}={shown(text)!r}: must be a time such as 2026-11-21T19:30:00Z, or an age such as 2h"
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
