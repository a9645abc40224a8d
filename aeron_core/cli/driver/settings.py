"""`aeron-core settings show`: every setting of the driver, its value and its source."""

from __future__ import annotations

import sys

from aeron_core.cli.options import Defines, Json, SettingsFiles, print_json
from aeron_core.cli.outcome import is_tty, print_stderr
from aeron_core.cli.text_table import print_table
from aeron_core.registry import Registry
from aeron_core.settings import (
    DriverSettings,
    LoadedSettings,
    SettingsModel,
    load_driver_settings,
    load_section,
)


def show_settings(files: SettingsFiles = None, define: Defines = None, json: Json = False) -> None:
    """Show every setting of a driver started here, its value and its source.

    Takes the same files, -D and environment variables as `aeron-core driver`. It does not read the settings of a
    running driver: `aeron-core dashboard` shows those.
    """
    registry = Registry.load()
    names = registry.section_names()
    driver = load_driver_settings(defines=define or [], files=files or [], sections=names)
    found: list[tuple[str, LoadedSettings[SettingsModel]]] = [("", _as_any_model(driver))]
    found += [
        (
            f"{name}.",
            load_section(name, registry.section_model(name), defines=define or [], files=files or []),
        )
        for name in names
    ]
    for _, loaded in found:
        for warning in loaded.warnings:
            print_stderr(f"warning: {warning}")
    if json:
        documents = [
            _document(prefix, loaded, name)
            for prefix, loaded in found
            for name in type(loaded.settings).model_fields
        ]
        print_json(documents)
        return
    rows = []
    for prefix, loaded in found:
        for name in type(loaded.settings).model_fields:
            variable = loaded.settings.variable(name)
            note = f"without effect: {variable.without_effect}" if variable.without_effect else ""
            source = loaded.sources[name].removesuffix(f" {variable.name}")
            rows.append((f"{prefix}{name}", loaded.settings.formatted(name), source, variable.name, note))
    print_table(("setting", "value", "from", "environment variable", "note"), rows)
    if is_tty(sys.stdout):
        print("of a driver started here; not read from a running one (`aeron-core dashboard` shows those)")


def _as_any_model(loaded: LoadedSettings[DriverSettings]) -> LoadedSettings[SettingsModel]:
    # A copy only for the type checker: LoadedSettings is invariant in the type of its settings.
    return LoadedSettings(loaded.settings, loaded.sources, loaded.warnings, loaded.printed)


def _document(prefix: str, loaded: LoadedSettings[SettingsModel], name: str) -> dict[str, object]:
    variable = loaded.settings.variable(name)
    return {
        "name": f"{prefix}{name}",
        "value": loaded.settings.formatted(name),
        "source": loaded.sources[name],
        "environment": variable.name,
        "has_effect": not variable.without_effect,
        "without_effect": variable.without_effect,
        "description": type(loaded.settings).model_fields[name].description,
    }
