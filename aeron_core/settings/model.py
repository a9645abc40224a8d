"""Base of every settings model: frozen, without extra fields, and with one error type.

pydantic-settings is not used: its sources pass a wrong value to validation, whereas the reference clamps values of the
environment or falls back to the default; nor do they report the source of a value. Importing it doubles the import
time of pydantic.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from aeron_core.errors import ConfigurationError
from aeron_core.settings.variables import Variable


class SettingsModel(BaseModel):
    """Immutable settings; a wrong value raises ConfigurationError with the allowed range."""

    # Validators are built at first use: an import must not spend time on a hundred of them.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init__(self, **data: object) -> None:
        for name in data:
            if name not in type(self).model_fields:
                raise ConfigurationError(unknown_field(name, type(self)))
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigurationError(_message(error)) from None

    @classmethod
    def variable(cls, field: str) -> Variable:
        """Return the variable of `field`: its spelling in the environment and in files."""
        for metadata in cls.model_fields[field].metadata:
            if isinstance(metadata, Variable):
                return metadata
        raise TypeError(f"field {field!r} of {cls.__name__} has no Variable")

    @classmethod
    def field_of_variable(cls) -> dict[str, str]:
        """Return the fields by environment name."""
        return {cls.variable(field).name: field for field in cls.model_fields}

    def formatted(self, field: str) -> str:
        """Return the value of `field` with units: `5s`, `64k`."""
        value: object = getattr(self, field)
        return "" if value is None else self.variable(field).format(value)


def unknown_field(name: str, model: type[SettingsModel]) -> str:
    """Return the message for a setting that `model` does not have."""
    near = get_close_matches(name, model.model_fields, n=3)
    hint = f"did you mean {' or '.join(near)}" if near else f"must be a field of {model.__name__}"
    return f"unknown setting {name!r}: {hint}"


def _message(error: ValidationError) -> str:
    faults = []
    for fault in error.errors(include_url=False):
        name = ".".join(str(part) for part in fault["loc"])
        cause = fault.get("ctx", {}).get("error", fault["msg"])
        faults.append(f"{name}={cause}" if name else str(cause))
    return "; ".join(faults)
