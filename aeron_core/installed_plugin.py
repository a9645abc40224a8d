"""Installed plugin: its distribution, what it provides, and the checks before it is used.

Not here: the tables of all plugins (registry). Every error names the plugin and its distribution.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from aeron_core._native import wire
from aeron_core.errors import PluginError

#: Remedy for a plugin that was built for another SPI version, as the end of an error message.
REBUILD: Final = "rebuild it against this aeron-core, or install a version that was built against it"


@dataclass
class InstalledPlugin:
    """One plugin: its entry point, its distribution, and the names that it provides by table."""

    name: str
    distribution: str
    version: str
    provides: dict[str, list[str]] = field(default_factory=dict)
    spi_version: int | None = (
        None  # AERON_CORE_SPI_VERSION of its module that was checked last, None for none yet
    )

    def __str__(self) -> str:
        version = f" {self.version}" if self.version else ""
        return f"plugin {self.name!r} of distribution {self.distribution!r}{version}"

    @property
    def remedy(self) -> str:
        """The remedy for a fault of the plugin, as the end of an error message."""
        return f"repair or uninstall {self.distribution!r}" if self.version else "repair the plugin"


def import_entry(path: str, title: str, installed: InstalledPlugin) -> Any:
    """Return the object at `module:name`; raise PluginError if it cannot be imported or its SPI version differs."""
    module_name, _, name = path.partition(":")
    try:
        module = import_module(module_name)
        check_spi_version(module, installed)
        return getattr(module, name)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(
            f"{title} of {installed} cannot be imported ({path}): {type(error).__name__}: {error}; "
            f"{installed.remedy}"
        ) from error


def call_table(
    hook: str, implementation: Callable[[], Mapping[str, Any]], installed: InstalledPlugin
) -> Mapping[str, Any]:
    """Return the table of a hook of the plugin; raise PluginError if the hook fails or returns no mapping."""
    try:
        table = implementation()
    except Exception as error:
        raise PluginError(
            f"{hook} of {installed} failed: {type(error).__name__}: {error}; {installed.remedy}"
        ) from error
    if not isinstance(table, Mapping):
        raise PluginError(
            f"{hook} of {installed} returned {type(table).__name__}: must be a mapping of names to factories, models "
            f"or texts `module:name`; "
            f"{installed.remedy}"
        )
    return table


def check_spi_version(module: object, installed: InstalledPlugin) -> None:
    """Raise PluginError if a module of the plugin has the number of another SPI version; record the number."""
    built_for = getattr(module, "AERON_CORE_SPI_VERSION", None)
    if built_for is None:
        return
    installed.spi_version = built_for
    if built_for != wire.SPI_VERSION:
        raise PluginError(
            f"{installed} was built for SPI version {built_for}, this aeron-core has {wire.SPI_VERSION}: "
            f"{REBUILD}"
        )


def check_compiled_classes(kind: type, installed: InstalledPlugin) -> None:
    """Raise PluginError for a class with compiled methods, its own or inherited, built for another SPI version.

    Also for a plugin that does not define its version: after a change of the base classes, it calls wrong functions.
    """
    for cls in kind.__mro__:
        if "__pyx_vtable__" not in vars(cls) or cls.__module__.startswith("aeron_core."):
            continue
        check_spi_version(sys.modules.get(cls.__module__), installed)
        if installed.spi_version is None:
            raise PluginError(
                f"{installed} has a compiled class, {cls.__module__}.{cls.__qualname__}, and no "
                f"AERON_CORE_SPI_VERSION: it may be built for another SPI version than {wire.SPI_VERSION}, that of "
                f"this aeron-core; define AERON_CORE_SPI_VERSION = wire.SPI_VERSION in {cls.__module__}, as "
                "aeron_core.spi describes, and rebuild it"
            )
