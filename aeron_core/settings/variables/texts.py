"""Settings that are texts: names, paths, switches and members of an enumeration."""

# ruff: noqa: D102 (the base class, Variable, documents the overridden methods)

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from enum import Enum
from pathlib import Path

from aeron_core.frozen import frozen
from aeron_core.settings.variables.variable import Variable
from aeron_core.uri import values


@frozen()
class Switch(Variable):
    """True or false; in the environment also text that begins with true, on, 1, false, off or 0."""

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
        raise self.refuse(value)

    def format(self, value: object) -> str:
        return str(value).lower()


@frozen()
class Text(Variable):
    """Free text, or a name that a plugin registers; `aliases` map the reference's names to those of this project."""

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
            raise self.refuse(text)
        name = self.aliases.get(text, text)
        if self.names and name not in self.names:
            raise self.refuse(text)
        return name

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        raise self.refuse(value)


@frozen()
class FilePath(Variable):
    """A path that is not empty, as a `Path`."""

    @property
    def allowed(self) -> str:
        return "must be a path that is not empty"

    def parse(self, text: str) -> object:
        return Path(text)

    def convert(self, value: object) -> object:
        if isinstance(value, (str, Path)) and str(value):
            return Path(value)
        raise self.refuse(value)


@frozen()
class FolderMode(Variable):
    """Permission bits of folders, in octal; the owner has all, other classes of users have all, read access or none."""

    @property
    def allowed(self) -> str:
        return "must be an octal mode with 7 for the owner, and 7, 5 or 0 for the group and for others, such as 0750"

    def parse(self, text: str) -> object:
        if text.isascii() and text.isdigit() and len(text) in (3, 4):
            with suppress(ValueError):  # has a digit 8 or 9
                mode = int(text, 8)
                # Here, too: an error of `convert` would show the number in decimal.
                if _is_folder_mode(mode):
                    return mode
        raise self.refuse(text)

    def convert(self, value: object) -> object:
        if isinstance(value, str):
            return self.parse(value)
        if type(value) is int and _is_folder_mode(value):
            return value
        # A number of a TOML file is decimal unless it is written as 0o750.
        raise self.refuse(f"{value} (in octal {value:04o})" if type(value) is int else value)

    def format(self, value: object) -> str:
        return f"{value:04o}"


def _is_folder_mode(mode: int) -> bool:
    return mode >> 6 == 0o7 and {mode >> 3 & 0o7, mode & 0o7} <= {0, 5, 7}


@frozen()
class Choice(Variable):
    """One member of an enumeration, by its value; `otherwise`, if set, for any other text of the environment."""

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
                raise self.refuse(text) from None
            return self.otherwise

    def convert(self, value: object) -> object:
        try:
            return self.enumeration(value)
        except ValueError:
            raise self.refuse(value) from None

    def format(self, value: object) -> str:
        return str(value.value) if isinstance(value, Enum) else str(value)
