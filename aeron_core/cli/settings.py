"""`aeron-core settings`: every setting of the driver, its value, and where the value came from."""

from __future__ import annotations

import sys
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from aeron_core.cli.options import Defines, Json, SettingsFiles, print_json
from aeron_core.cli.outcome import say
from aeron_core.settings import DriverSettings, LoadedSettings, load_driver_settings

_PIPE_WIDTH: Final = 240

settings_app = typer.Typer(help="Settings of the driver.", no_args_is_help=True, rich_markup_mode=None)


@settings_app.callback()
def _settings() -> None:
    """Show the settings of the driver."""


@settings_app.command("show")
def show_settings(files: SettingsFiles = None, define: Defines = None, json: Json = False) -> None:
    """Show the settings that `aeron-core driver` would have with the same files, -D and environment."""
    loaded = load_driver_settings(defines=define or [], files=files or [])
    for warning in loaded.warnings:
        say(f"warning: {warning}")
    if json:
        print_json([_document(loaded, name) for name in DriverSettings.model_fields])
        return
    table = Table("setting", "value", "from", "environment variable", "note")
    for name in DriverSettings.model_fields:
        variable = DriverSettings.variable(name)
        note = f"without effect: {variable.without_effect}" if variable.without_effect else ""
        source = loaded.sources[name].removesuffix(f" {variable.name}")
        table.add_row(name, loaded.settings.formatted(name), source, variable.name, note)
    # In a pipe a row is a line: as wide as it needs to be.
    Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


def _document(loaded: LoadedSettings[DriverSettings], name: str) -> dict[str, object]:
    variable = DriverSettings.variable(name)
    return {
        "name": name,
        "value": loaded.settings.formatted(name),
        "source": loaded.sources[name],
        "environment": variable.name,
        "has_effect": not variable.without_effect,
        "without_effect": variable.without_effect,
        "description": DriverSettings.model_fields[name].description,
    }
