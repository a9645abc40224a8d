"""Settings of running drivers, with the origin of each value.

A driver does not publish its settings. Those of `aeron-core driver` follow from its command line, its environment and
the files that it names, which this user can read in /proc if the process is one of theirs. They are loaded again, with
the loader of the driver.
Not here: drivers of other programs, which may set their settings in code.
Invariant: a process that `cnc.dat` names counts only if it is a driver with this directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from aeron_core.cli.dashboard.documents import Json, TableColumn, TableRow, table, text_cell
from aeron_core.cli.top.sources import Moment, ObservedDriver
from aeron_core.errors import AeronError
from aeron_core.frozen import frozen

#: Bytes of a command line or an environment that are read. Invented.
_MAX_LENGTH: Final = 1024 * 1024
_COLUMNS: Final = (
    *(
        TableColumn("setting"),
        TableColumn("value"),
        TableColumn("from"),
        TableColumn("environment variable"),
        TableColumn("driver"),
    ),
)
#: Names of the program in a command line, the second one after `python -m`.
_PROGRAMS: Final = ("aeron-core", "aeron_core")
#: Options of `aeron-core driver` that have a value; -D may have it in the same argument.
_WITH_VALUE: Final = frozenset({"-D", "-d", "--aeron-dir", "--metrics", "--metrics-token-file", "--otlp"})


@frozen()
class ShownSetting:
    """One setting of one driver."""

    aeron_dir: Path
    name: str
    value: str
    source: str
    variable: str

    @property
    def is_default(self) -> bool:
        """Whether no source has set it."""
        return self.source == "default"


@frozen()
class DriverCommandLine:
    """Sources of settings in the command line of a driver."""

    defines: Sequence[str] = ()
    files: Sequence[Path] = ()
    aeron_dir: Path | None = None


class SettingsReader:
    """Reads the settings of each driver once; one thread at a time."""

    def __init__(self) -> None:
        self._found: dict[tuple[Path, int | None, int | None], tuple[ShownSetting, ...]] = {}

    def read(self, moment: Moment) -> tuple[ShownSetting, ...]:
        """Return the settings of the drivers of a moment, as far as they are known; those that were set first."""
        kept = {}
        for driver in moment.drivers:
            state = driver.state
            if driver.snapshot is None or not state.is_alive:
                continue
            key = (state.aeron_dir, state.pid, state.start_timestamp_ms)
            kept[key] = self._found[key] if key in self._found else _settings_of(driver)
        self._found = kept
        return tuple(
            sorted((each for found in kept.values() for each in found), key=lambda each: each.is_default)
        )


def setting_table(settings: Iterable[ShownSetting], names: Mapping[Path, str]) -> Json:
    """Return the table of settings."""
    rows = (
        TableRow(
            f"{each.aeron_dir} {each.name}",
            (
                text_cell(each.name),
                text_cell(each.value),
                text_cell(each.source),
                text_cell(each.variable),
                text_cell(names.get(each.aeron_dir, str(each.aeron_dir))),
            ),
        )
        for each in settings
    )
    return table("Settings", _COLUMNS, rows, "known only of `aeron-core driver` processes of this user")


def command_of(arguments: Sequence[str], folder: Path) -> DriverCommandLine | None:
    """Return the sources of settings in a command line, None if it is not that of `aeron-core driver`.

    `folder`: the one that relative paths of files start from.
    """
    index = next((number for number, each in enumerate(arguments[:6]) if each == "driver"), 0)
    if index == 0 or Path(arguments[index - 1]).name not in _PROGRAMS:
        return None
    defines, files, aeron_dir = [], [], None
    rest = iter(arguments[index + 1 :])
    for argument in rest:
        name, has_value, value = argument.partition("=")
        if name in _WITH_VALUE and not has_value:
            value = next(rest, "")
        if argument.startswith("-D"):
            defines.append(argument[2:] or value)
        elif name in ("-d", "--aeron-dir"):
            aeron_dir = folder / value
        elif not argument.startswith("-"):
            files.append(folder / argument.removeprefix("file://"))
    return DriverCommandLine(defines, files, aeron_dir)


def _settings_of(driver: ObservedDriver) -> tuple[ShownSetting, ...]:
    process = Path("/proc") / str(driver.state.pid)
    try:
        if process.stat().st_uid != os.geteuid():
            return ()
        folder = Path(os.readlink(process / "cwd"))
        command = command_of(_texts(process / "cmdline"), folder)
        if command is None:
            return ()
        environ = dict(each.split("=", 1) for each in _texts(process / "environ") if "=" in each)
        return tuple(_loaded(driver.state.aeron_dir, command, environ))
    except (AeronError, OSError, ValueError):
        # The process may have ended, or its files have changed since its start.
        return ()


def _loaded(
    aeron_dir: Path, command: DriverCommandLine, environ: Mapping[str, str]
) -> Iterator[ShownSetting]:
    from aeron_core.registry import Registry  # noqa: PLC0415 - imports all plugins
    from aeron_core.settings import load_driver_settings, load_section  # noqa: PLC0415 - imports pydantic

    registry = Registry.load()
    names = registry.section_names()
    sources: dict[str, Any] = {"defines": command.defines, "files": command.files, "environ": environ}
    loaded = load_driver_settings(arguments={"aeron_dir": command.aeron_dir}, sections=names, **sources)
    if os.path.realpath(loaded.settings.aeron_dir) != os.path.realpath(aeron_dir):
        return
    found: list[tuple[str, Any]] = [("", loaded)]
    found += [(f"{name}.", load_section(name, registry.section_model(name), **sources)) for name in names]
    for prefix, section in found:
        for name in type(section.settings).model_fields:
            variable = section.settings.variable(name)
            yield ShownSetting(
                aeron_dir,
                f"{prefix}{name}",
                str(section.settings.formatted(name)),
                section.sources[name].removesuffix(f" {variable.name}"),
                variable.name,
            )


def _texts(path: Path) -> list[str]:
    """Return the texts of a file of /proc, which NULs separate."""
    with path.open("rb") as file:
        data = file.read(_MAX_LENGTH)
    return [os.fsdecode(each) for each in data.rstrip(b"\0").split(b"\0")]
