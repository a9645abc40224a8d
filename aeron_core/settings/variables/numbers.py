"""Settings that are numbers: integers, sizes, durations and rates.

Source: aeron_parse_util.c (aeron_config_parse_uint64 and similar functions).
"""

# ruff: noqa: D102 (the base class, Variable, documents the overridden methods)

from __future__ import annotations

import math
import re
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.settings.variables.variable import Variable
from aeron_core.uri import values

# A number at the start of a text, as strtoull and strtoll read it: text after it is no part of it.
_UNSIGNED: Final = re.compile(r"\s*([+-]?)(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*)", re.IGNORECASE)
_NUMBER_AND_UNIT: Final = re.compile(r"\s*\+?([0-9]+)([a-z]?)(.*)", re.IGNORECASE | re.DOTALL)

_UINT64_MAX: Final = 2**64 - 1
#: Numbers with this many digits or more, leading zeros included, are taken as above the int64 range.
_MOST_DIGITS: Final = 20


def _base_of(digits: str) -> int:
    """Return the base of `digits` in C notation: 16, 8 or 10."""
    if digits[:2] in ("0x", "0X"):
        return 16
    return 8 if digits.startswith("0") else 10


@frozen()
class Integer(Variable):
    """A whole number within a range."""

    minimum: int
    maximum: int
    is_unsigned: bool = False  # the reference reads it by aeron_config_parse_uint64
    is_long: bool = False  # the reference reads it as 64 bits and clamps it, whatever the range

    @property
    def allowed(self) -> str:
        return f"must be a number from {self.format(self.minimum)} to {self.format(self.maximum)}"

    def parse(self, text: str) -> object:
        number = values.parse_int64(text)
        # As in the reference, a number that does not fit int32 is an error. The callers check the range: `add_text`
        # clamps the number, `check` refuses it.
        if self.maximum <= values.INT32_MAX and not values.INT32_MIN <= number <= values.INT32_MAX:
            raise self.refuse(text)
        return number

    def read(self, text: str) -> object:
        if self.is_unsigned:
            # Source: strtoull, which ignores text after the number and wraps a negative one.
            found = _UNSIGNED.match(text)
            if found is None:
                raise self.refuse(text)
            number = int(found[2], _base_of(found[2]))
            return min(number, _UINT64_MAX) if found[1] != "-" else -number % (_UINT64_MAX + 1)
        if self.is_long or self.maximum > values.INT32_MAX:
            return values.parse_int64(text, saturates=True)
        return self.parse(text)

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            try:
                return self.parse(value)
            except ConfigurationError:
                raise self.refuse(value) from None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.refuse(value)

    def clamp(self, value: object) -> object:
        return max(self.minimum, min(value, self.maximum)) if isinstance(value, int) else value


@frozen()
class Size(Integer):
    """Bytes, as a number or as text such as `64k`; `sensible` is the narrower range that error messages name."""

    sensible: tuple[int, int] | None = None

    @property
    def allowed(self) -> str:
        low, high = map(self.format, self.sensible or (self.minimum, self.maximum))
        return f"must be a size from {low} to {high}, such as 64k, 16m or 1g"

    def parse(self, text: str) -> object:
        return values.parse_size(text)

    def read(self, text: str) -> object:
        # Source: aeron_parse_size64 ignores text after the unit, and strtoll returns its maximum for a larger number.
        found = _NUMBER_AND_UNIT.fullmatch(text)
        if found is None:
            raise self.refuse(text)
        digits, unit, rest = found.groups()
        if unit:
            return self.parse(digits + unit)
        if rest:
            raise self.refuse(text)
        return min(int(digits), values.INT64_MAX) if len(digits) < _MOST_DIGITS else values.INT64_MAX

    def format(self, value: object) -> str:
        return values.format_size(value) if isinstance(value, int) else str(value)


@frozen()
class Duration(Integer):
    """Nanoseconds, as a number or as text such as `5s`."""

    minimum: int = 0
    maximum: int = values.INT64_MAX

    @property
    def allowed(self) -> str:
        return f"must be a duration of at least {self.format(self.minimum)}, such as 100ms, 5s or 15min"

    def parse(self, text: str) -> object:
        return values.parse_duration_ns(text)

    def read(self, text: str) -> object:
        found = _NUMBER_AND_UNIT.fullmatch(text)
        if found is not None and found[2] in tuple("munMUN"):
            digits, unit, rest = found.groups()
            # Source: aeron_parse_duration_ns accepts text after `ns`, `us` and `ms`, and a unit of two characters that
            # begins with n, u or m, such as `mb`.
            if rest[:1] in ("s", "S") or (len(rest) == 1 and rest.isascii()):
                return self.parse(f"{digits}{unit}s")
        return self.parse(text)

    def format(self, value: object) -> str:
        return values.format_duration_ns(value) if isinstance(value, int) else str(value)

    def unit_note(self, text: str) -> str:
        return "a number alone is nanoseconds" if text.isdecimal() else ""


@frozen()
class Rate(Variable):
    """A proportion from 0 to 1."""

    @property
    def allowed(self) -> str:
        return "must be a number from 0.0 to 1.0"

    def parse(self, text: str) -> object:
        try:
            rate = float(text)
        except ValueError:
            raise self.refuse(text) from None
        if math.isnan(rate):
            raise self.refuse(text)
        return rate

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.parse(str(value))
        raise self.refuse(value)

    def clamp(self, value: object) -> object:
        return max(0.0, min(value, 1.0)) if isinstance(value, float) else value
