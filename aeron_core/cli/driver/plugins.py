"""`aeron-core plugins list`: the installed plugins and the names that they provide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aeron_core.cli.groups import distribution_of, installed_plugins, is_bundled
from aeron_core.cli.index import HOOKS, PLUGINS
from aeron_core.cli.options import Json, print_json
from aeron_core.cli.text_table import table_lines


@dataclass(frozen=True, slots=True)
class _Plugin:
    name: str
    distribution: str
    version: str
    provides: Mapping[str, Sequence[str]]  # names by hook, both sorted


def list_plugins(json: Json = False) -> None:
    """List the plugins with their distributions and the names they provide."""
    plugins = _plugins()
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
    }
