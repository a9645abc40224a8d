"""Value syntax of channel URIs, settings, commands and Spark options: text in, numbers out.

Not here: which key takes which kind of value, and its range.
Invariant: a text is accepted as a whole or not at all; what the reference driver tolerates (`64kb`, `5mx`) is
rejected. The units of the reference have its meaning. Longer units of durations are an extension; minutes are `min`,
because `m` is a unit of sizes, and the reference driver takes `5m` for 5 ms or rejects it, depending on the byte
after the text. A parser raises ConfigurationError for text that it rejects.

Source: aeron_parse_util.c, aeron_uri.c (aeron_uri_get_int32, aeron_uri_get_int64, aeron_uri_get_bool).
"""

from __future__ import annotations

import re
from typing import Final

from aeron_core.errors import ConfigurationError

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

SIZE_ALLOWED: Final = (
    "must be a whole decimal number of bytes, with an optional suffix k, m or g, of at most "
    f"{INT64_MAX} bytes"
)
DURATION_UNITS: Final = "ns, us, ms, s, min, h or d"
DURATION_ALLOWED: Final = (
    f"must be a whole decimal number with a unit {DURATION_UNITS}, or without one in nanoseconds"
)
BOOL_ALLOWED: Final = "must be true or false"
ENVIRONMENT_BOOL_ALLOWED: Final = "must start with true, on or 1, or with false, off or 0"
INT32_ALLOWED: Final = f"must be a decimal, 0x or 0 (octal) number from {INT32_MIN} to {INT32_MAX}"
INT64_ALLOWED: Final = f"must be a decimal, 0x or 0 (octal) number from {INT64_MIN} to {INT64_MAX}"

_SIZE: Final = re.compile(r"([0-9]+)([kmg]?)", re.IGNORECASE)
_SIZE_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_DURATION: Final = re.compile(r"([0-9]+)(ns|us|ms|s|min|h|d|)", re.IGNORECASE)
_DURATION_UNITS_NS: Final = {
    "": 1,
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
}
_INTEGER: Final = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")

# Limit for conversion: int() takes quadratic time, and Python itself rejects more than 4300 digits.
_MAX_DIGITS: Final = 64


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `64`, `64k`, `16m` or `1g`; suffixes, in any case, are powers of 1024.

    Raises ConfigurationError for any other text, and above 2**63 - 1 bytes.
    """
    match = _SIZE.fullmatch(text)
    if match is not None and len(text) <= _MAX_DIGITS:
        length = int(match[1]) * _SIZE_UNITS[match[2].lower()]
        if length <= INT64_MAX:
            return length
    raise ConfigurationError(f"{_shorten(text)}: {SIZE_ALLOWED}")


def shown(text: str, max_length: int = 100) -> str:
    """Return a wrong value as a message has it: at most `max_length` characters of it."""
    return text if len(text) <= max_length else f"{text[:max_length]}..."


def parse_duration_ns(text: str) -> int:
    """Return the nanoseconds of `10`, `10ns`, `5us`, `100ms`, `5s`, `15min`, `12h` or `7d`.

    A duration beyond the int64 range (292 years) becomes its maximum, as in the reference. Raises ConfigurationError
    for any other text.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{_shorten(text)}: {DURATION_ALLOWED}")
    if len(text) > _MAX_DIGITS:
        return INT64_MAX if match[1].strip("0") else 0
    return min(int(match[1]) * _DURATION_UNITS_NS[match[2].lower()], INT64_MAX)


def parse_bool(text: str) -> bool:
    """Return the boolean of `true` or `false`, as written in channel URIs; raise ConfigurationError for other text."""
    if text == "true":
        return True
    if text == "false":
        return False
    raise ConfigurationError(f"{_shorten(text)}: {BOOL_ALLOWED}")


def parse_environment_bool(text: str) -> bool:
    """Return the boolean of an environment variable; text after true, on, 1, false, off or 0 is ignored.

    Raises ConfigurationError for other text. Source: aeron_parse_util.c, aeron_parse_bool.
    """
    if text.startswith(("1", "on", "true")):
        return True
    if text.startswith(("0", "off", "false")):
        return False
    raise ConfigurationError(f"{_shorten(text)}: {ENVIRONMENT_BOOL_ALLOWED}")


def parse_int32(text: str) -> int:
    """Return a signed 32-bit integer in C notation: `10`, `-10`, `0x0a`, `012`.

    Raises ConfigurationError for any other text, and for a number out of range.
    """
    value = _parse_integer(text)
    if value is None or not INT32_MIN <= value <= INT32_MAX:
        raise ConfigurationError(f"{_shorten(text)}: {INT32_ALLOWED}")
    return value


def parse_int64(text: str, *, saturates: bool = False) -> int:
    """Return a signed 64-bit integer in C notation: `10`, `-10`, `0x0a`, `012`.

    With `saturates`, a number out of range becomes the nearest limit, as with strtoll. Otherwise, and for any other
    text or one of more than 64 characters, raises ConfigurationError.
    """
    value = _parse_integer(text)
    if saturates and value is not None:
        return max(INT64_MIN, min(value, INT64_MAX))
    if value is None or not INT64_MIN <= value <= INT64_MAX:
        raise ConfigurationError(f"{_shorten(text)}: {INT64_ALLOWED}")
    return value


def is_integer(text: str) -> bool:
    """Return whether `text` is an integer in C notation, of any size."""
    return _INTEGER.fullmatch(text) is not None


def format_duration_ns(duration_ns: int) -> str:
    """Return `duration_ns` in the largest unit without a fraction: `100ms`, `5s`, `1500ms`, `0ns`.

    The units are those of the reference driver; the longest is the second.
    """
    for unit in ("s", "ms", "us"):
        count, rest = divmod(duration_ns, _DURATION_UNITS_NS[unit])
        if count > 0 and rest == 0:
            return f"{count}{unit}"
    return f"{duration_ns}ns"


def format_size(length: int) -> str:
    """Return `length` bytes in the largest unit without a fraction: `64k`, `1g`, `1408`, `0`."""
    for unit in ("g", "m", "k"):
        count, rest = divmod(length, _SIZE_UNITS[unit])
        if count > 0 and rest == 0:
            return f"{count}{unit}"
    return str(length)


def _parse_integer(text: str) -> int | None:
    match = _INTEGER.fullmatch(text)
    if match is None or len(text) > _MAX_DIGITS:
        return None
    sign, hexadecimal, octal, decimal = match.groups()
    if hexadecimal is not None:
        magnitude = int(hexadecimal, 16)
    else:
        magnitude = int(octal, 8) if octal is not None else int(decimal)
    return -magnitude if sign == "-" else magnitude


def _shorten(text: str) -> str:
    return repr(text) if len(text) <= _MAX_DIGITS else f"{text[:_MAX_DIGITS]!r}..."
