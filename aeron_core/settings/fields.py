"""Settings as plain objects: the fields of a class body, with the checks of their variables.

Not here: the models for programs (models), which have the same fields and are pydantic's. A driver and a client start
with plain objects, because importing pydantic and building its models is slow.
Invariant: a value in a plain object is one that the pydantic model would hold, and a fault has the same message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, NoReturn, Self, get_args

from aeron_core.errors import ConfigurationError

if TYPE_CHECKING:
    from aeron_core.settings.variables import Variable


#: Maximum number of fields that a message lists. For a model with more, which is only the driver's, the message names
#: the command that lists them.
_MAX_LISTED: Final = 20


class SettingField(NamedTuple):
    """One field: its type and variable as `Annotated[type, variable]`, its default and its description."""

    annotation: Any
    variable: Variable
    default: object
    default_factory: Callable[[], object] | None
    description: str

    def get_default(self) -> object:
        """Return the default value; a default factory is called each time."""
        return self.default if self.default_factory is None else self.default_factory()


class _Declared(NamedTuple):
    default: object
    default_factory: Callable[[], object] | None
    description: str


def setting(
    default: object = None, *, default_factory: Callable[[], object] | None = None, description: str
) -> Any:
    """Declare a field of a class derived from SettingsFields, as pydantic's `Field` does for its models."""
    return _Declared(default, default_factory, description)


class SettingsFields:
    """Immutable settings; a wrong value raises ConfigurationError with the allowed range.

    Modules with such classes must not postpone annotations (`from __future__ import annotations`): the variables are
    read from the annotations when the class is created, and annotations as text would have to be evaluated.
    """

    fields: ClassVar[Mapping[str, SettingField]] = {}
    #: Name of the model that programs use.
    model_name: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        fields: dict[str, SettingField] = {}
        # The last base first, as pydantic orders fields.
        for base in reversed(cls.__bases__):
            if issubclass(base, SettingsFields):
                fields.update(base.fields)
        for name, declared in list(vars(cls).items()):
            if isinstance(declared, _Declared):
                annotation = cls.__annotations__[name]
                fields[name] = SettingField(annotation, get_args(annotation)[1], *declared)
                delattr(cls, name)
        cls.fields = fields

    def __init__(self, **data: object) -> None:
        values, faults = {}, []
        for name in data:
            if name not in self.fields:
                raise ConfigurationError(unknown_field(name, self.fields, self.model_name))
        for name, field in self.fields.items():
            if name not in data:
                values[name] = field.get_default()
                continue
            try:
                values[name] = field.variable.check(data[name])
            except ConfigurationError as error:
                faults.append(f"{name}={error}")
        if faults:
            raise ConfigurationError("; ".join(faults))
        self.__dict__.update(values)
        self.check_consistency()

    def check_consistency(self) -> None:
        """Raise ConfigurationError for settings that cannot work together; the base class has no rules."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"settings are frozen: cannot assign {name}={value!r}: create new settings with it"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"settings are frozen: cannot delete {name}: create new settings without it")

    def changed(self) -> dict[str, object]:
        """Return by field the values that are not the default, and those with a default factory."""
        values = {name: getattr(self, name) for name in self.fields}
        # The result of a default factory depends on the environment, which may differ the next time.
        return {
            name: value
            for name, value in values.items()
            if self.fields[name].default_factory is not None or value != self.fields[name].default
        }

    def replaced(self, **changes: object) -> Self:
        """Return a copy with `changes`; raise ConfigurationError if they are wrong."""
        return type(self)(**{**self.changed(), **changes})

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(cls.fields)

    @classmethod
    def variable(cls, field: str) -> Variable:
        """Return the variable of `field`, which has its environment name, parser and range; KeyError if unknown."""
        return cls.fields[field].variable

    @classmethod
    def field_of_variable(cls) -> dict[str, str]:
        """Return the names of the fields by environment name."""
        return {field.variable.name: name for name, field in cls.fields.items()}

    def formatted(self, field: str) -> str:
        """Return the value of `field` with units: `5s`, `64k`; empty if it is None."""
        value: object = getattr(self, field)
        return "" if value is None else self.variable(field).format(value)


def unknown_field(name: str, fields: Mapping[str, object], model_name: str) -> str:
    """Return the error for a setting that a model lacks, with similar names, all names, or the command to list them."""
    from difflib import get_close_matches  # noqa: PLC0415 - lazy: only mistakes need it

    near = get_close_matches(name, fields, n=3)
    if near:
        hint = f"did you mean {' or '.join(near)}"
    else:
        names = ", ".join(fields) if len(fields) <= _MAX_LISTED else "see `aeron-core settings show`"
        hint = f"must be a field of {model_name}: {names}"
    return f"unknown setting {name!r}: {hint}"
