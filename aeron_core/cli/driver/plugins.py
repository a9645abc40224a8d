"""`aeron-core plugins list`: the installed plugins and the names that they provide."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aeron_core.cli.groups import distribution_of, installed_plugins, is_bundled
from aeron_core.cli.index import HOOKS, PLUGIN_LIBRARIES, PLUGIN_PACKAGES, PLUGINS
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.text_table import table_lines
from aeron_core.version import DISTRIBUTION


@dataclass(frozen=True, slots=True)
class _Plugin:
    name: str
    distribution: str
    version: str
    provides: Mapping[str, Sequence[str]]  # names by hook, both sorted
    lacks: str = ""  # a library that is not installed, and the remedy


def list_plugins(json: Json = False) -> None:
    """List the plugins with their distributions and the names they provide."""
    plugins = [_with_libraries(plugin) for plugin in _plugins()]
    if json:
        print_json([_document(plugin) for plugin in plugins])
        return
    rows = [
        (
            plugin.name,
            f"{plugin.distribution} {plugin.version}".strip(),
            HOOKS.get(hook, ""),
            ", ".join(names),
        )
        for plugin in plugins
        # A plugin that provides no names may still add commands or handle events.
        for hook, names in plugin.provides.items() or [("", ())]
    ]
    print("\n".join(table_lines(("plugin", "distribution", "provides", "names"), rows)))
    for plugin in plugins:
        if plugin.lacks:
            print_stderr(f"note: plugin {plugin.name}: {plugin.lacks}")


def _with_libraries(plugin: _Plugin) -> _Plugin:
    if plugin.distribution != DISTRIBUTION:
        return plugin
    lacks = []
    library, remedy = PLUGIN_LIBRARIES.get(plugin.name, ("", ""))
    if library and not _is_installed(library):
        lacks.append(f"found no {library}: {remedy}")
    package, remedy = PLUGIN_PACKAGES.get(plugin.name, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        lacks.append(f"found no package {package}: {remedy}")
    return replace(plugin, lacks="; ".join(lacks))


def _is_installed(library: str) -> bool:
    import ctypes  # noqa: PLC0415 - slow to import: this command only

    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _plugins() -> list[_Plugin]:
    """Return all plugins; import them only if one is missing in the index."""
    points = installed_plugins()
    if all(is_bundled(point) and point.name in PLUGINS for point in points):
        return [
            _Plugin(
                point.name,
                distribution_of(point),
                point.dist.version if point.dist else "",
                PLUGINS[point.name],
            )
            for point in points
        ]
    from aeron_core.registry import Registry  # noqa: PLC0415 - imports pydantic, and then all plugins

    return [
        _Plugin(
            plugin.name,
            plugin.distribution,
            plugin.version,
            {hook: sorted(names) for hook, names in sorted(plugin.provides.items())},
        )
        for plugin in Registry.load().plugins()
    ]


def _document(plugin: _Plugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "provides": plugin.provides,
        **({"lacks": plugin.lacks} if plugin.lacks else {}),
    }
