"""Loading of settings from their sources; precedence: argument > -D > environment > file > default.

The environment, -D and property files are read as the reference reads its environment: a value out of range
is clamped and one that cannot be parsed falls back to the default, each with a warning; a strict variable
that cannot be parsed raises ConfigurationError. Values in Python or TOML are written for this driver, so a
wrong value there raises ConfigurationError. So do values that cannot work together, from any source.
Invariant: no other package reads variables with the prefix AERON_ from os.environ.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypedDict

from aeron_core.errors import ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.settings.aeron_dir import default_aeron_dir
from aeron_core.settings.client import ClientFields
from aeron_core.settings.driver import DriverFields
from aeron_core.settings.gathering import FOREIGN_PREFIXES, PREFIX, TABLES, GatheredSettings, S
from aeron_core.settings.properties import parse_defines, parse_properties
from aeron_core.settings.text_files import read_text_file

if TYPE_CHECKING:
    from typing import Unpack

    from aeron_core.settings.models import ClientSettings, DriverSettings

ARGUMENT: Final = "argument"
DEFINE: Final = "-D"
DEFAULT: Final = "default"
#: TOML table of the security profiles, each of which is a table in it.
_SECURITY: Final = "security"


class SettingsSources(TypedDict, total=False):
    """Keyword arguments of the functions `load_…`; without `environ` they read os.environ."""

    arguments: Mapping[str, object] | None  # by field name, None for not given
    defines: Sequence[str]  # `name=value`, as after -D
    files: Sequence[Path]  # property files or TOML files; a later file overrides an earlier one
    environ: Mapping[str, str] | None


@frozen(slots=True)
class LoadedSettings(Generic[S]):
    """Settings with the source of each value, and warnings."""

    settings: S
    sources: Mapping[str, str]  # field -> "argument", "-D", "environment AERON_X", "file NAME" or "default"
    warnings: tuple[
        str, ...
    ]  # about values that were clamped, not parsed, or have no effect, and unknown names
    #: Those of `warnings` that a driver prints when it starts. As in the reference, they are not about values that are
    #: clamped or have no effect, nor about unknown variables of the environment; unknown names in files and -D are
    #: included.
    printed: tuple[str, ...] = ()


def load_driver_settings(
    *, sections: Collection[str] = (), **sources: Unpack[SettingsSources]
) -> LoadedSettings[DriverSettings]:
    """Return the driver's settings; TOML files may have a table `driver`.

    `sections`: names of plugins' sections; this function ignores settings of these. Raises ConfigurationError for a
    file that cannot be read, and for wrong values as the module describes.
    """
    from aeron_core.settings.models import DriverSettings  # noqa: PLC0415 - imports pydantic: drivers start without

    loaded = load_driver_fields(sections=sections, **sources)
    return LoadedSettings(DriverSettings.of(loaded.settings), loaded.sources, loaded.warnings, loaded.printed)


def load_driver_fields(
    *, sections: Collection[str] = (), **sources: Unpack[SettingsSources]
) -> LoadedSettings[DriverFields]:
    """Return the driver's settings as a plain object, as `load_driver_settings` does."""
    foreign = (*FOREIGN_PREFIXES, *map(section_prefix, sections))
    gathered = GatheredSettings(
        DriverFields, "driver", tables=(*TABLES, _SECURITY, *sections), foreign_prefixes=foreign
    )
    return _load(gathered, **sources)


def load_client_settings(**sources: Unpack[SettingsSources]) -> LoadedSettings[ClientSettings]:
    """Return a client's settings, as `load_driver_settings` does; the TOML table is `client`."""
    from aeron_core.settings.models import ClientSettings  # noqa: PLC0415 - imports pydantic: clients start without

    loaded = load_client_fields(**sources)
    return LoadedSettings(ClientSettings.of(loaded.settings), loaded.sources, loaded.warnings, loaded.printed)


def load_client_fields(**sources: Unpack[SettingsSources]) -> LoadedSettings[ClientFields]:
    """Return a client's settings as a plain object, as `load_client_settings` does."""
    return _load(GatheredSettings(ClientFields, "client"), **sources)


def load_section(name: str, model: type[S], **sources: Unpack[SettingsSources]) -> LoadedSettings[S]:
    """Return a plugin's section of settings, as `load_driver_settings` does.

    The TOML table has the same `name`; the variables of the section `recording` begin with AERON_RECORDING_.
    """
    gathered = GatheredSettings(model, name, tables=(), prefix=section_prefix(name))
    return _load(gathered, **sources)


def is_section_set(
    name: str,
    *,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> bool:
    """Return whether a source may have a value of a plugin's section: any file, or a variable with its prefix.

    Raises ConfigurationError as `parse_defines` does.
    """
    environ = os.environ if environ is None else environ
    prefix = section_prefix(name)
    return bool(files) or any(variable.startswith(prefix) for variable in (*environ, *parse_defines(defines)))


def section_prefix(name: str) -> str:
    """Return the prefix of the environment variables of a plugin's section."""
    return f"{PREFIX}{name.upper()}_"


def _load(
    gathered: GatheredSettings[S],
    *,
    arguments: Mapping[str, object] | None = None,
    defines: Sequence[str] = (),
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings[S]:
    environ = os.environ if environ is None else environ
    for path in files:
        _add_file(gathered, path)
    own = {name: text.strip() for name, text in environ.items() if name.startswith(PREFIX)}
    gathered.add_environment(own)
    gathered.add_properties(parse_defines(defines), DEFINE)
    for name, value in (arguments or {}).items():
        if value is not None:
            gathered.add_python(name, value, ARGUMENT)
    values = dict(gathered.values)
    if "aeron_dir" in gathered.model.field_names():
        # The default depends on the environment, which may differ from that of this process.
        values.setdefault("aeron_dir", default_aeron_dir(environ))
    try:
        settings = gathered.model(**values)
    except ConfigurationError as error:
        raise ConfigurationError(gathered.with_sources(str(error))) from None
    return LoadedSettings(
        settings,
        {name: gathered.sources.get(name, DEFAULT) for name in gathered.model.field_names()},
        (*gathered.warnings.values(), *gathered.misspelt, *gathered.unknown),
        (*(gathered.warnings[name] for name in sorted(gathered.unreadable)), *gathered.unknown),
    )


def _add_file(gathered: GatheredSettings[S], path: Path) -> None:
    source = f"file {path.name}"
    text = read_text_file(path, f"settings file {str(path)!r}")
    if path.suffix != ".toml":
        gathered.add_properties(parse_properties(text, source), source)
        return
    import tomllib  # noqa: PLC0415 - lazy: the parser's patterns take time, and most drivers have no such file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"settings file {str(path)!r}: must be TOML: {error}") from error
    if gathered.tables and not document.keys() & set(gathered.tables):
        tables = " or ".join(f"[{name}]" for name in gathered.tables)
        gathered.unknown.append(f"{source}: nothing is taken from it: must have a table {tables}")
    table: object = document.get(gathered.table, {})
    if not isinstance(table, dict):
        raise ConfigurationError(
            f"settings file {str(path)!r}: {gathered.table!r} must be a table: "
            f"write [{gathered.table}] above its settings"
        )
    for name, value in table.items():
        gathered.add_python(name, value, source)
    if "security_profiles" in gathered.model.field_names() and _SECURITY in document:
        gathered.add_python("security_profiles", document[_SECURITY], source)
