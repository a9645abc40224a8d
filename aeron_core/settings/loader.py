"""Loads settings from their sources; precedence: argument > -D > environment > file > default.

The environment, -D and property files are read as the reference reads its environment: a value out of range is clamped
and one that cannot be parsed falls back to the default, each with a warning. Values in Python or TOML are written for
this driver, so a wrong value there raises ConfigurationError.
Invariant: only this package reads os.environ.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.client import ClientFields
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.fields import unknown_field
from aeron_core.settings.properties import Property, parse_defines, parse_properties

if TYPE_CHECKING:
    from aeron_core.settings.model import SettingsModel
    from aeron_core.settings.models import ClientSettings, DriverSettings

ARGUMENT: Final = "argument"
DEFINE: Final = "-D"
DEFAULT: Final = "default"

_S = TypeVar("_S", bound="SettingsModel | DriverFields | ClientFields")
_PREFIX: Final = "AERON_"
#: Tables of TOML files.
_TABLES: Final = ("driver", "client")
#: Minimum similarity of a misspelt name, 0 to 1. Invented: no other name of the reference is that similar to ours.
_LIKENESS: Final = 0.9
# Variables of other Aeron programs, which may share property files with the driver.
_FOREIGN_PREFIXES: Final = ("AERON_ARCHIVE_", "AERON_CLUSTER_", "AERON_SAMPLE_")


@frozen(slots=True)
class LoadedSettings(Generic[_S]):
    """Settings with the source of each value."""

    settings: _S
    sources: Mapping[str, str]  # field -> "argument", "-D", "environment AERON_X", "file NAME" or "default"
    warnings: tuple[
        str, ...
    ]  # about values that were clamped, not parsed, or have no effect, and unknown names
    #: Those of `warnings` that a driver prints when it starts. As in the reference, it accepts silently what it clamps
    #: or has no use for, and variables that it does not know.
    printed: tuple[str, ...] = ()


def load_driver_settings(
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
    sections: Collection[str] = (),
) -> LoadedSettings[DriverSettings]:
    """Return the driver's settings.

    `arguments`: by field name, None for not given. `defines`: `name=value`, as after -D. `files`: property
    files, or TOML files with a table `driver`; a later file overrides an earlier one. `environ`: os.environ
    if None. `sections`: names of plugins' sections; this function ignores settings of these.
    """
    from aeron_core.settings.models import DriverSettings  # noqa: PLC0415 - imports pydantic: drivers start without

    loaded = load_driver_fields(
        arguments=arguments, defines=defines, files=files, environ=environ, sections=sections
    )
    return LoadedSettings(DriverSettings.of(loaded.settings), loaded.sources, loaded.warnings, loaded.printed)


def load_driver_fields(
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
    sections: Collection[str] = (),
) -> LoadedSettings[DriverFields]:
    """Return the driver's settings as a plain object, as `load_driver_settings` does."""
    foreign = (*_FOREIGN_PREFIXES, *map(section_prefix, sections))
    gathering = _Gathering(DriverFields, "driver", tables=(*_TABLES, *sections), foreign_prefixes=foreign)
    return _load(gathering, arguments or {}, defines, files, environ)


def load_client_settings(
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings[ClientSettings]:
    """Return a client's settings, as `load_driver_settings` does; the TOML table is `client`."""
    from aeron_core.settings.models import ClientSettings  # noqa: PLC0415 - imports pydantic: clients start without

    loaded = load_client_fields(arguments=arguments, defines=defines, files=files, environ=environ)
    return LoadedSettings(ClientSettings.of(loaded.settings), loaded.sources, loaded.warnings, loaded.printed)


def load_client_fields(
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings[ClientFields]:
    """Return a client's settings as a plain object, as `load_client_settings` does."""
    return _load(_Gathering(ClientFields, "client"), arguments or {}, defines, files, environ)


def load_section(  # noqa: PLR0913 - a section, and the sources of all settings
    name: str,
    model: type[_S],
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings[_S]:
    """Return a plugin's section of settings, as `load_driver_settings` does.

    `name`: of the TOML table; variables begin with it, as AERON_RECORDING_ does.
    """
    gathering = _Gathering(model, name, tables=(), prefix=section_prefix(name))
    return _load(gathering, arguments or {}, defines, files, environ)


def is_section_set(
    name: str,
    *,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> bool:
    """Return whether a source may have a value of a plugin's section: any file, or a variable with its prefix."""
    environ = os.environ if environ is None else environ
    prefix = section_prefix(name)
    return bool(files) or any(variable.startswith(prefix) for variable in (*environ, *parse_defines(defines)))


def section_prefix(name: str) -> str:
    """Return the prefix of the environment variables of a plugin's section."""
    return f"{_PREFIX}{name.upper()}_"


@dataclass(slots=True)
class _Gathering(Generic[_S]):
    """Values found so far, by field; sources are read from the weakest to the strongest."""

    model: type[_S]
    table: str  # of TOML files
    tables: tuple[str, ...] = _TABLES  # a TOML file must have one of these; no check if empty
    prefix: str = _PREFIX  # of environment variables
    foreign_prefixes: tuple[str, ...] = _FOREIGN_PREFIXES  # of variables that belong to others
    values: dict[str, object] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(
        default_factory=dict
    )  # by field: original text of values that were changed or have no unit
    warnings: dict[str, str] = field(default_factory=dict)  # by field: a stronger value removes the warning
    unreadable: set[str] = field(
        default_factory=set
    )  # fields whose warning is about a value that was not parsed
    unknown: list[str] = field(default_factory=list)
    misspelt: list[str] = field(default_factory=list)  # variables of the environment

    def forget(self, name: str) -> None:
        self.values.pop(name, None)
        self.sources.pop(name, None)
        self.written.pop(name, None)
        self.warnings.pop(name, None)
        self.unreadable.discard(name)

    def add_python(self, name: str, value: object, source: str) -> None:
        """Add a value of Python or TOML; raise ConfigurationError if it is wrong."""
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
        """Add a text value as the reference reads its environment."""
        self.forget(name)
        variable = self.model.variable(name)
        try:
            value = variable.parse(text)
        except ConfigurationError:
            fault = f"{variable.name}={text} ({source}): {variable.allowed}"
            if variable.strict:
                raise ConfigurationError(fault) from None
            self.warnings[name] = f"{fault}; using the default"
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
        """Add the values of variables; warn about unknown names only if they look like a misspelt setting."""
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
        """Add the values of a file or of -D; an empty value unsets a setting, an unknown name is a warning."""
        fields = self.model.field_of_variable()
        for variable_name, (written, text) in properties.items():
            if not variable_name.startswith(self.prefix) and self.prefix != _PREFIX:
                continue
            name = fields.get(variable_name)
            if name is None:
                if self._is_unknown(variable_name):
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
        """Return the known variable that is most similar to an unknown one."""
        if not self._is_unknown(variable_name):
            return None
        from difflib import get_close_matches  # noqa: PLC0415 - lazy: only mistakes need it

        known = self._known_variables()
        return next(iter(get_close_matches(variable_name, known, n=1, cutoff=_LIKENESS)), None)

    def _hint(self, variable_name: str, written: str) -> str:
        near = self._near(variable_name)
        if near is None:
            return ""
        return f": did you mean {near if written == variable_name else near.lower().replace('_', '.')}"

    def _note_without_effect(self, name: str, source: str) -> None:
        variable = self.model.variable(name)
        if variable.without_effect:
            self.warnings[name] = (
                f"{variable.name} ({source}): accepted, without effect: {variable.without_effect}"
            )


def _load(
    gathering: _Gathering[_S],
    arguments: Mapping[str, object],
    defines: Sequence[str],
    files: Sequence[Path],
    environ: Mapping[str, str] | None,
) -> LoadedSettings[_S]:
    environ = os.environ if environ is None else environ
    for path in files:
        _add_file(gathering, path)
    own = {name: text.strip() for name, text in environ.items() if name.startswith(_PREFIX)}
    gathering.add_environment(own)
    gathering.add_properties(parse_defines(defines), DEFINE)
    for name, value in arguments.items():
        if value is not None:
            gathering.add_python(name, value, ARGUMENT)
    values = dict(gathering.values)
    if "aeron_dir" in gathering.model.field_names():
        # The default depends on the environment, which may differ from that of this process.
        values.setdefault("aeron_dir", default_aeron_dir(environ))
    try:
        settings = gathering.model(**values)
    except ConfigurationError as error:
        raise ConfigurationError(_with_sources(str(error), gathering)) from None
    return LoadedSettings(
        settings,
        {name: gathering.sources.get(name, DEFAULT) for name in gathering.model.field_names()},
        (*gathering.warnings.values(), *gathering.misspelt, *gathering.unknown),
        (*(gathering.warnings[name] for name in sorted(gathering.unreadable)), *gathering.unknown),
    )


def _add_file(gathering: _Gathering[_S], path: Path) -> None:
    source = f"file {path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"settings file {str(path)!r}: must be readable text: {error}") from error
    if path.suffix != ".toml":
        gathering.add_properties(parse_properties(text, source), source)
        return
    import tomllib  # noqa: PLC0415 - lazy: the parser's patterns take time, and most drivers have no such file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"settings file {str(path)!r}: must be TOML: {error}") from error
    if gathering.tables and not document.keys() & set(gathering.tables):
        tables = " or ".join(f"[{name}]" for name in gathering.tables)
        gathering.unknown.append(f"{source}: nothing is taken from it: must have a table {tables}")
    table: object = document.get(gathering.table, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"settings file {str(path)!r}: {gathering.table!r} must be a table")
    for name, value in table.items():
        gathering.add_python(name, value, source)


def _name_of(model: type[object]) -> str:
    name: str = getattr(model, "model_name", model.__name__)
    return name


def _with_sources(message: str, gathering: _Gathering[_S]) -> str:
    notes = [
        ", ".join(filter(None, (f"{name} from {source}", gathering.written.get(name))))
        for name, source in gathering.sources.items()
        if re.search(rf"\b{name}=", message)
    ]
    return f"{message} ({'; '.join(notes)})" if notes else message
