"""Base of every settings model: frozen, without extra fields, and with one error type.

pydantic-settings is not used: its sources pass a wrong value to validation, whereas the reference clamps values of the
environment or falls back to the default; nor do they report the source of a value.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from aeron_core.errors import ConfigurationError
from aeron_core.settings.fields import SettingsFields, unknown_field
from aeron_core.settings.variables import Variable


class SettingsModel(BaseModel):
    """Immutable settings; a wrong value raises ConfigurationError with the allowed range."""

    # Build validators at first use: importing a model must not take the time for those of all its fields.
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    def __init__(self, **data: object) -> None:
        for name in data:
            if name not in type(self).model_fields:
                raise ConfigurationError(unknown_field(name, type(self).model_fields, type(self).__name__))
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise ConfigurationError(_message(error)) from None

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(cls.model_fields)

    @classmethod
    def variable(cls, field: str) -> Variable:
        """Return the variable of `field`, which has its environment name, parser and range.

        Raises KeyError if there is no such field, TypeError if its annotation has no variable.
        """
        for metadata in cls.model_fields[field].metadata:
            if isinstance(metadata, Variable):
                return metadata
        raise TypeError(
            f"field {field!r} of {cls.__name__} has no Variable: annotate it as in Annotated[int, Integer(...)]"
        )

    @classmethod
    def field_of_variable(cls) -> dict[str, str]:
        """Return the names of the fields by environment name; raise TypeError if one has no variable."""
        return {cls.variable(field).name: field for field in cls.model_fields}

    def formatted(self, field: str) -> str:
        """Return the value of `field` with units: `5s`, `64k`; empty if it is None."""
        value: object = getattr(self, field)
        return "" if value is None else self.variable(field).format(value)


def model_with(fields: type[SettingsFields]) -> type[SettingsModel]:
    """Return a new model that has the fields of a plain class, with their defaults, variables and descriptions."""
    definitions: dict[str, Any] = {}
    for name, field in fields.fields.items():
        if field.default_factory is None:
            info = Field(field.default, description=field.description)
        else:
            info = Field(default_factory=field.default_factory, description=field.description)
        definitions[name] = (field.annotation, info)
    return create_model(f"_{fields.model_name}", __base__=SettingsModel, __module__=__name__, **definitions)


def _message(error: ValidationError) -> str:
    faults = []
    for fault in error.errors(include_url=False):
        name = ".".join(str(part) for part in fault["loc"])
        cause = fault.get("ctx", {}).get("error", fault["msg"])
        faults.append(f"{name}={cause}" if name else str(cause))
    return "; ".join(faults)
