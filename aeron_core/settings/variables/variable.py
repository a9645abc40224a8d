"""Variable: the base of the types of settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


@frozen()
class Variable(ABC):
    """Type of one setting: its environment name, its parser, its range, and its values as text."""

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
        """Return the value of `text`, in or out of range; raise ConfigurationError if it cannot be parsed."""

    def read(self, text: str) -> object:
        """Return the value that the reference reads from an environment variable or a property.

        The reference ignores some errors that `parse` refuses. Raises ConfigurationError if the reference
        uses its default, with or without a warning.
        """
        return self.parse(text)

    @abstractmethod
    def convert(self, value: object) -> object:
        """Return a Python or TOML value as the field's type, or raise ConfigurationError; `check` tests its range."""

    def clamp(self, value: object) -> object:
        """Return the allowed value nearest to `value`; the base returns `value`, for types without a range."""
        return value

    def check(self, value: object) -> object:
        """Return `value` converted; raise ConfigurationError if it is wrong or out of range.

        None is allowed for an optional field only, and returned as it is.
        """
        if value is None and self.optional:
            return None
        converted = self.convert(value)
        if self.clamp(converted) != converted:
            raise self.refuse(value)
        return converted

    def format(self, value: object) -> str:
        """Return `value` as text, with a unit if its type has one."""
        return str(value)

    def unit_note(self, text: str) -> str:
        """Return a note for messages about a unit missing in `text`, empty if none is missing."""
        return ""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - imports pydantic: only pydantic calls this

        return core_schema.no_info_plain_validator_function(self.check)

    def refuse(self, value: object) -> ConfigurationError:
        """Return the error for a value that is not allowed."""
        return ConfigurationError(f"{self.shown(repr(value))}: {self.allowed}")

    def shown(self, text: str) -> str:
        """Return a value that is not allowed, as text for an error or a warning."""
        return text
