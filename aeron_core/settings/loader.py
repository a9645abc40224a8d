"""Puts settings together: argument > -D > environment > file > default.

The environment, -D and property files are read as the reference reads its environment: what is out of range
is clamped and what cannot be read falls back to the default, each with a warning. What comes from Python or
TOML is code or a file made for this driver: a wrong value there raises ConfigurationError.
Invariant: os.environ is read in this package and nowhere else.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar

from aeron_core.errors import ConfigurationError
from aeron_core.settings.client import ClientSettings
from aeron_core.settings.directory import default_aeron_dir
from aeron_core.settings.driver import DriverSettings
from aeron_core.settings.model import SettingsModel, unknown_field
from aeron_core.settings.properties import parse_defines, parse_properties

ARGUMENT: Final = "argument"
DEFINE: Final = "-D"
DEFAULT: Final = "default"

_S = TypeVar("_S", bound=SettingsModel)
_PREFIX: Final = "AERON_"
# Read by other programs of the same family, which share property files with the driver.
_FOREIGN_PREFIXES: Final = ("AERON_ARCHIVE_", "AERON_CLUSTER_", "AERON_SAMPLE_")


@dataclass(frozen=True, slots=True)
class LoadedSettings(Generic[_S]):
    """Settings with the story of each value."""

    settings: _S
    sources: Mapping[str, str]  # field -> "argument", "-D", "environment AERON_X", "file NAME" or "default"
    warnings: tuple[str, ...]  # what was clamped, not understood, or is without effect


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
    where None. `sections`: names of plugins' sections, whose settings are theirs.
    """
    foreign = (*_FOREIGN_PREFIXES, *map(section_prefix, sections))
    gathering = _Gathering(DriverSettings, "driver", foreign_prefixes=foreign)
    return _load(gathering, arguments or {}, defines, files, environ)


def load_client_settings(
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings[ClientSettings]:
    """Return a client's settings, as `load_driver_settings` does; the TOML table is `client`."""
    return _load(_Gathering(ClientSettings, "client"), arguments or {}, defines, files, environ)


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
    gathering = _Gathering(model, name, prefix=section_prefix(name))
    return _load(gathering, arguments or {}, defines, files, environ)


def section_prefix(name: str) -> str:
    """Return how the environment variables of a plugin's section begin."""
    return f"{_PREFIX}{name.upper()}_"


@dataclass(slots=True)
class _Gathering(Generic[_S]):
    """Values found so far, each by field; sources are visited from the weakest to the strongest."""

    model: type[_S]
    table: str  # of TOML files
    prefix: str = _PREFIX  # of environment variables
    foreign_prefixes: tuple[str, ...] = _FOREIGN_PREFIXES  # of variables that others read
    values: dict[str, object] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)  # by field: a stronger value makes a warning moot
    unknown: list[str] = field(default_factory=list)

    def forget(self, name: str) -> None:
        self.values.pop(name, None)
        self.sources.pop(name, None)
        self.warnings.pop(name, None)

    def add_python(self, name: str, value: object, source: str) -> None:
        """Take a value that must be right."""
        if name not in self.model.model_fields:
            raise ConfigurationError(f"{unknown_field(name, self.model)} ({source})")
        self.forget(name)
        variable = self.model.variable(name)
        try:
            self.values[name] = variable.check(value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}={error} ({source})") from None
        self.sources[name] = source
        self._note_without_effect(name, source)

    def add_text(self, name: str, text: str, source: str) -> None:
        """Take a value as the reference takes its environment."""
        self.forget(name)
        variable = self.model.variable(name)
        try:
            value = variable.parse(text)
        except ConfigurationError:
            fault = f"{variable.name}={text} ({source}): {variable.allowed}"
            if variable.strict:
                raise ConfigurationError(fault) from None
            self.warnings[name] = f"{fault}; using the default"
            return
        clamped = variable.clamp(value)
        self.values[name] = clamped
        self.sources[name] = source
        self._note_without_effect(name, source)
        if clamped != value:
            used = variable.format(clamped)
            self.warnings[name] = f"{variable.name}={text} ({source}): {variable.allowed}; using {used}"

    def add_texts(self, texts: Mapping[str, str], source: str, *, is_complete: bool) -> None:
        """Take values by environment name; where `is_complete`, an unknown name is worth a warning."""
        fields = self.model.field_of_variable()
        for variable_name, text in texts.items():
            if self.prefix != _PREFIX and not variable_name.startswith(self.prefix):
                continue
            name = fields.get(variable_name)
            if name is None:
                if is_complete and self._is_unknown(variable_name):
                    self.unknown.append(f"{variable_name}={text} ({source}): unknown setting")
            elif text:
                self.add_text(name, text, source.replace("$", variable_name))
            elif is_complete:
                self.forget(name)

    def _is_unknown(self, variable_name: str) -> bool:
        if not variable_name.startswith(self.prefix) or variable_name.startswith(self.foreign_prefixes):
            return False
        return all(
            variable_name not in model.field_of_variable()
            for model in (self.model, DriverSettings, ClientSettings)
        )

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
    gathering.add_texts(own, "environment $", is_complete=False)
    gathering.add_texts(parse_defines(defines), DEFINE, is_complete=True)
    for name, value in arguments.items():
        if value is not None:
            gathering.add_python(name, value, ARGUMENT)
    values = dict(gathering.values)
    if "aeron_dir" in gathering.model.model_fields:
        # The default depends on the environment, which may not be this process's own.
        values.setdefault("aeron_dir", default_aeron_dir(environ))
    try:
        settings = gathering.model(**values)
    except ConfigurationError as error:
        raise ConfigurationError(_with_sources(str(error), gathering.sources)) from None
    return LoadedSettings(
        settings,
        {name: gathering.sources.get(name, DEFAULT) for name in gathering.model.model_fields},
        (*gathering.warnings.values(), *gathering.unknown),
    )


def _add_file(gathering: _Gathering[_S], path: Path) -> None:
    source = f"file {path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"settings file {str(path)!r}: must be readable text: {error}") from error
    if path.suffix != ".toml":
        gathering.add_texts(parse_properties(text, source), source, is_complete=True)
        return
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"settings file {str(path)!r}: must be TOML: {error}") from error
    table: object = document.get(gathering.table, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"settings file {str(path)!r}: {gathering.table!r} must be a table")
    for name, value in table.items():
        gathering.add_python(name, value, source)


def _with_sources(message: str, sources: Mapping[str, str]) -> str:
    notes = [f"{name} from {source}" for name, source in sources.items() if re.search(rf"\b{name}=", message)]
    return f"{message} ({', '.join(notes)})" if notes else message
