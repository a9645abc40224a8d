"""Gathered settings: the values found so far, by field, with the source and the warnings of each.

Sources are added from the weakest to the strongest: a value replaces an earlier one and that one's warning.

Not here: the sources themselves and their order (`loader`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aeron_core.errors import ConfigurationError
from aeron_core.settings.client import ClientFields
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.fields import unknown_field
from aeron_core.settings.properties import Property

if TYPE_CHECKING:
    from aeron_core.settings.model import SettingsModel

#: Start of the names of all environment variables.
PREFIX: Final = "AERON_"
#: Tables of TOML files.
TABLES: Final = ("driver", "client")
#: Start of variables of other Aeron programs, which may share property files with the driver.
FOREIGN_PREFIXES: Final = ("AERON_ARCHIVE_", "AERON_CLUSTER_", "AERON_SAMPLE_")

#: Minimum similarity of a misspelt name, 0 to 1. Invented: no other name of the reference is that similar to ours.
_LIKENESS: Final = 0.9

S = TypeVar("S", bound="SettingsModel | DriverFields | ClientFields")


@dataclass(slots=True)
class GatheredSettings(Generic[S]):
    """Values of the fields of one model, with their sources and warnings."""

    model: type[S]
    table: str  # of TOML files
    tables: tuple[str, ...] = TABLES  # a TOML file must have one of these; no check if empty
    prefix: str = PREFIX  # of environment variables
    foreign_prefixes: tuple[str, ...] = FOREIGN_PREFIXES  # of variables that belong to others
    values: dict[str, object] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(
        default_factory=dict
    )  # by field: original text of values that were changed or have no unit
    warnings: dict[str, str] = field(default_factory=dict)  # by field: a stronger value removes the warning
    unreadable: set[str] = field(
        default_factory=set
    )  # fields with a warning about a value that was not parsed, if the reference warns, too
    unknown: list[str] = field(default_factory=list)
    misspelt: list[str] = field(default_factory=list)  # variables of the environment

    def forget(self, name: str) -> None:
        """Remove the value of a field, so that its default applies."""
        self.values.pop(name, None)
        self.sources.pop(name, None)
        self.written.pop(name, None)
        self.warnings.pop(name, None)
        self.unreadable.discard(name)

    def add_python(self, name: str, value: object, source: str) -> None:
        """Add a value of Python or TOML; raise ConfigurationError for an unknown field or a wrong value."""
        fields = dict.fromkeys(self.model.field_names())
        if name not in fields:
            raise ConfigurationError(f"{unknown_field(name, fields, _name_of(self.model))} ({source})")
        self.forget(name)
        variable = self.model.variable(name)
        try:
            self.values[name] = variable.check(value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}={error} ({source})") from None
        self.sources[name] = source
        self._note_without_effect(name, source)

    def add_text(self, name: str, text: str, source: str) -> None:
        """Add a text value as the reference reads its environment: clamp it to the range, with a warning.

        If it cannot be parsed, use the default, with a warning; raise ConfigurationError if the variable is
        strict.
        """
        self.forget(name)
        variable = self.model.variable(name)
        try:
            value = variable.read(text)
        except ConfigurationError:
            fault = f"{variable.name}={variable.shown(text)} ({source}): {variable.allowed}"
            if variable.strict:
                raise ConfigurationError(fault) from None
            self.warnings[name] = f"{fault}; using the default"
            if not variable.quiet:
                self.unreadable.add(name)
            return
        clamped = variable.clamp(value)
        note = variable.unit_note(text)
        if note or clamped != value:
            self.written[name] = ": ".join(filter(None, (f"written {text!r}", note)))
        self.values[name] = clamped
        self.sources[name] = source
        self._note_without_effect(name, source)
        if clamped != value:
            used = variable.format(clamped)
            fault = f"{variable.name}={text} ({source}): {variable.allowed}; using {used}"
            self.warnings[name] = "; ".join(filter(None, (fault, note)))

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Add the values of the model's variables that are not empty.

        An unknown name with the prefix of the model is a warning only if it is similar to a known one. Raises
        ConfigurationError as `add_text` does.
        """
        fields = self.model.field_of_variable()
        for variable_name, text in environ.items():
            if not variable_name.startswith(self.prefix):
                continue
            name = fields.get(variable_name)
            source = f"environment {variable_name}"
            if name is None:
                near = self._near(variable_name)
                if near:
                    self.misspelt.append(f"{variable_name}={text} (environment): did you mean {near}")
            elif text:
                self.add_text(name, text, source)

    def add_properties(self, properties: Mapping[str, Property], source: str) -> None:
        """Add the values of a file or of -D by environment name; an empty value unsets a setting.

        An unknown name with the prefix of the model is a warning, unless it belongs to another program or to the driver
        or client, and so is the name of a field. Raises ConfigurationError as `add_text` does.
        """
        fields = self.model.field_of_variable()
        for variable_name, (written, text) in properties.items():
            if not variable_name.startswith(self.prefix) and self.prefix != PREFIX:
                continue
            name = fields.get(variable_name)
            if name is None:
                if variable_name.lower() in fields.values():
                    # The name of TOML and Python. A property without the prefix is otherwise another program's.
                    right = self.model.variable(variable_name.lower()).name.lower().replace("_", ".")
                    self.unknown.append(f"{written}={text} ({source}): unknown setting: did you mean {right}")
                elif self._is_unknown(variable_name):
                    hint = self._hint(variable_name, written)
                    self.unknown.append(f"{written}={text} ({source}): unknown setting{hint}")
            elif text:
                self.add_text(name, text, source)
            else:
                self.forget(name)

    def _is_unknown(self, variable_name: str) -> bool:
        if not variable_name.startswith(self.prefix) or variable_name.startswith(self.foreign_prefixes):
            return False
        return variable_name not in self._known_variables()

    def _known_variables(self) -> set[str]:
        models = (self.model, DriverFields, ClientFields)
        return {name for model in models for name in model.field_of_variable()}

    def _near(self, variable_name: str) -> str | None:
        """Return the known variable that is most similar to an unknown one, None if none is similar enough."""
        if not self._is_unknown(variable_name):
            return None
        from difflib import get_close_matches  # noqa: PLC0415 - lazy: only mistakes need it

        known = self._known_variables()
        return next(iter(get_close_matches(variable_name, known, n=1, cutoff=_LIKENESS)), None)

    def _hint(self, variable_name: str, written: str) -> str:
        near = self._near(variable_name)
        if near is None:
            return ": it has no effect: correct its name or remove it"
        return f": did you mean {near if written == variable_name else near.lower().replace('_', '.')}"

    def _note_without_effect(self, name: str, source: str) -> None:
        variable = self.model.variable(name)
        if variable.without_effect:
            self.warnings[name] = (
                f"{variable.name} ({source}): accepted, without effect: {variable.without_effect}"
            )

    def with_sources(self, message: str) -> str:
        """Return a message with the sources of the fields that it names."""
        notes = [
            ", ".join(filter(None, (f"{name} from {source}", self.written.get(name))))
            for name, source in self.sources.items()
            if re.search(rf"\b{name}=", message)
        ]
        return f"{message} ({'; '.join(notes)})" if notes else message


def _name_of(model: type[object]) -> str:
    name: str = getattr(model, "model_name", model.__name__)
    return name
