"""Types of settings: each field has one, with its environment name, its parser and its range.

Not here: the fields (driver, client) and the sources of values (loader).
Invariant: `check` returns a value of the field's own type within its range, or raises ConfigurationError.

Source: aeron_parse_util.c (aeron_config_parse_uint64 and similar functions).
"""

# ruff: noqa: D102 (Variable documents its overrides)

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri import values

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


# Numbers as strtoull and strtoll read them: text after the number is not part of it.
_UNSIGNED: Final = re.compile(r"\s*([+-]?)(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*)", re.IGNORECASE)
_NUMBER_AND_UNIT: Final = re.compile(r"\s*\+?([0-9]+)([a-z]?)(.*)", re.IGNORECASE | re.DOTALL)


class PortRange(NamedTuple):
    """Range of ports, both ends included; 0 and 0 leave the choice to the operating system."""

    low: int
    high: int


@frozen()
class Variable(ABC):
    """Textual form of one field."""

    name: str  # environment variable; a property is the same in lower case with dots
    _: KW_ONLY
    optional: bool = False  # None means not set
    strict: bool = False  # a wrong environment value stops the start instead of falling back to the default
    without_effect: str = ""  # reason why the setting is accepted and ignored, empty if it has an effect
    quiet: bool = False  # the reference uses its default without a warning if it cannot parse a value

    @property
    @abstractmethod
    def allowed(self) -> str:
        """Allowed values, for messages: `must be ...`."""

    @abstractmethod
    def parse(self, text: str) -> object:
        """Return the value of text; raise ConfigurationError."""

    def read(self, text: str) -> object:
        """Return the value that the reference reads from an environment variable or a property.

        It ignores some errors, which `parse` does not. Raises ConfigurationError where the reference warns.
        """
        return self.parse(text)

    @abstractmethod
    def convert(self, value: object) -> object:
        """Return a value of Python or TOML as the field's type; raise ConfigurationError."""

    def clamp(self, value: object) -> object:
        """Return the allowed value nearest to `value`."""
        return value

    def check(self, value: object) -> object:
        """Return `value` converted; raise ConfigurationError if it is wrong or out of range."""
        if value is None and self.optional:
            return None
        converted = self.convert(value)
        if self.clamp(converted) != converted:
            raise ConfigurationError(f"{value!r}: {self.allowed}")
        return converted

    def format(self, value: object) -> str:
        """Return `value` as text, with a unit."""
        return str(value)

    def unit_note(self, text: str) -> str:
        """Return a note for messages about a unit missing in `text`, empty if none is missing."""
        return ""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - imports pydantic: only pydantic calls this

        return core_schema.no_info_plain_validator_function(self.check)

    def _refuse(self, value: object) -> ConfigurationError:
        return ConfigurationError(f"{value!r}: {self.allowed}")


_UINT64_MAX: Final = 2**64 - 1
#: Longer numbers are above the int64 range.
_MOST_DIGITS: Final = 20


def _base_of(digits: str) -> int:
    """Return the base of a number in C notation."""
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
        # Like the reference: a number that does not fit the type is an error; any other is clamped to the range.
        if self.maximum <= values.INT32_MAX and not values.INT32_MIN <= number <= values.INT32_MAX:
            raise self._refuse(text)
        return number

    def read(self, text: str) -> object:
        if self.is_unsigned:
            # Source: strtoull, which ignores text after the number and wraps a negative one.
            found = _UNSIGNED.match(text)
            if found is None:
                raise self._refuse(text)
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
                raise self._refuse(value) from None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self._refuse(value)

    def clamp(self, value: object) -> object:
        return max(self.minimum, min(value, self.maximum)) if isinstance(value, int) else value


@frozen()
class Size(Integer):
    """Bytes, as a number or as text such as `64k`; `sensible` is a narrower range for messages."""

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
            raise self._refuse(text)
        digits, unit, rest = found.groups()
        if unit:
            return self.parse(digits + unit)
        if rest:
            raise self._refuse(text)
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
            # Source: aeron_parse_duration_ns accepts text after `ms`, and any two characters as a unit, such as `mb`.
            if rest[:1] in ("s", "S") or (len(rest) == 1 and rest.isascii()):
                return self.parse(f"{digits}{unit}s")
        return self.parse(text)

    def format(self, value: object) -> str:
        return values.format_duration_ns(value) if isinstance(value, int) else str(value)

    def unit_note(self, text: str) -> str:
        return "a number alone is nanoseconds" if text.isdecimal() else ""


@frozen()
class Switch(Variable):
    """True or false."""

    quiet: bool = True  # aeron_parse_bool returns the default

    @property
    def allowed(self) -> str:
        return "must be true or false"

    def parse(self, text: str) -> object:
        return values.parse_environment_bool(text)

    def convert(self, value: object) -> object:
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise self._refuse(value)

    def format(self, value: object) -> str:
        return str(value).lower()


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
            raise self._refuse(text) from None
        if math.isnan(rate):
            raise self._refuse(text)
        return rate

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.parse(str(value))
        raise self._refuse(value)

    def clamp(self, value: object) -> object:
        return max(0.0, min(value, 1.0)) if isinstance(value, float) else value


@frozen()
class Text(Variable):
    """Free text, or a name that a plugin registers; `aliases` map the reference's names to ours."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    max_length: int = 0  # characters, 0 for no limit
    names: tuple[str, ...] = ()  # the only values, empty for any

    @property
    def allowed(self) -> str:
        if self.names:
            return f"must be one of {', '.join(self.names)}"
        return f"must be text of at most {self.max_length} characters" if self.max_length else "must be text"

    def parse(self, text: str) -> object:
        if self.max_length and len(text) > self.max_length:
            raise self._refuse(text)
        name = self.aliases.get(text, text)
        if self.names and name not in self.names:
            raise self._refuse(text)
        return name

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        raise self._refuse(value)


@frozen()
class FilePath(Variable):
    """A path."""

    @property
    def allowed(self) -> str:
        return "must be a path that is not empty"

    def parse(self, text: str) -> object:
        return Path(text)

    def convert(self, value: object) -> object:
        if isinstance(value, (str, Path)) and str(value):
            return Path(value)
        raise self._refuse(value)


@frozen()
class Texts(Variable):
    """Texts separated by commas."""

    maximum: int = 0  # number of texts, 0 for no limit

    @property
    def allowed(self) -> str:
        limit = f", at most {self.maximum}" if self.maximum else ""
        return f"must be a list of texts separated by commas{limit}"

    def parse(self, text: str) -> object:
        return self.convert([part.strip() for part in text.split(",") if part.strip()])

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, Sequence) and all(isinstance(part, str) for part in value):
            return self._limited(tuple(value))
        raise self._refuse(value)

    def format(self, value: object) -> str:
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def _limited(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        if self.maximum and len(texts) > self.maximum:
            raise self._refuse(texts)
        return texts


@frozen()
class Choice(Variable):
    """One member of an enumeration, by its value."""

    enumeration: type[Enum]
    otherwise: Enum | None = None  # value of any other text of the environment

    @property
    def allowed(self) -> str:
        return f"must be one of {', '.join(str(member.value) for member in self.enumeration)}"

    def parse(self, text: str) -> object:
        try:
            return self.enumeration(text)
        except ValueError:
            if self.otherwise is None:
                raise self._refuse(text) from None
            return self.otherwise

    def convert(self, value: object) -> object:
        try:
            return self.enumeration(value)
        except ValueError:
            raise self._refuse(value) from None

    def format(self, value: object) -> str:
        return str(value.value) if isinstance(value, Enum) else str(value)


@frozen()
class Ports(Variable):
    """Two ports, `low high`."""

    @property
    def allowed(self) -> str:
        return f"must be two ports 'low high' from 0 to {2**16 - 1}, the lower one first"

    def parse(self, text: str) -> object:
        try:
            return self.convert([int(part) for part in text.split()])
        except ValueError:
            raise self._refuse(text) from None

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if isinstance(value, Sequence) and len(value) == 2 and all(type(port) is int for port in value):
            low, high = value
            if 0 <= low <= high < 2**16:
                return PortRange(low, high)
        raise self._refuse(value)

    def format(self, value: object) -> str:
        return f"{value.low} {value.high}" if isinstance(value, PortRange) else str(value)
