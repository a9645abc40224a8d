"""Types of settings: each field has one, with its environment name, its parser and its range.

Not here: the fields (models) and the sources of values (loader).
Invariant: `check` returns a value of the field's own type within its range, or raises ConfigurationError.

Source: aeron_parse_util.c (aeron_config_parse_uint64 and its kin).
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
from typing import TYPE_CHECKING, NamedTuple

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.uri import values

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


#: A size of the environment with text after its unit, such as `64mb`. Source: aeron_parse_size64 ignores that text.
_TEXT_AFTER_UNIT = re.compile(r"([0-9]+[kmg]).+", re.IGNORECASE)


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

    @property
    @abstractmethod
    def allowed(self) -> str:
        """Allowed values, for messages: `must be ...`."""

    @abstractmethod
    def parse(self, text: str) -> object:
        """Return the value of the text of an environment variable; raise ConfigurationError."""

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


@frozen()
class Integer(Variable):
    """A whole number within a range."""

    minimum: int
    maximum: int

    @property
    def allowed(self) -> str:
        return f"must be a number from {self.format(self.minimum)} to {self.format(self.maximum)}"

    def parse(self, text: str) -> object:
        number = values.parse_int64(text)
        # Like the reference: a number that does not fit the type is an error; any other is clamped to the range.
        if self.maximum <= values.INT32_MAX and not values.INT32_MIN <= number <= values.INT32_MAX:
            raise self._refuse(text)
        return number

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
        found = _TEXT_AFTER_UNIT.fullmatch(text)
        return values.parse_size(text if found is None else found[1])

    def convert(self, value: object) -> object:
        if isinstance(value, str) and _TEXT_AFTER_UNIT.fullmatch(value) is not None:
            # Only the environment and property files are shared with the reference.
            raise self._refuse(value)
        return super().convert(value)

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

    def format(self, value: object) -> str:
        return values.format_duration_ns(value) if isinstance(value, int) else str(value)

    def unit_note(self, text: str) -> str:
        return "a number alone is nanoseconds" if text.isdecimal() else ""


@frozen()
class Switch(Variable):
    """True or false."""

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
        return "must be a path"

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
