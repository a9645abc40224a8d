"""`aeron-core plugins`: what is installed, and what it provides."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from aeron_core.cli.options import Json, print_json
from aeron_core.registry import TABLES, InstalledPlugin, Registry

plugins_app = typer.Typer(help="Plugins of this installation.", no_args_is_help=True, rich_markup_mode=None)


@plugins_app.callback()
def _plugins() -> None:
    """Show the plugins of this installation."""


@plugins_app.command("list")
def list_plugins(json: Json = False) -> None:
    """Show each plugin with its distribution and the names that it provides."""
    plugins = Registry.load().plugins()
    if json:
        print_json([_document(plugin) for plugin in plugins])
        return
    table = Table("plugin", "distribution", "provides", "names")
    for plugin in plugins:
        distribution = f"{plugin.distribution} {plugin.version}".strip()
        # A plugin may provide nothing by name, but commands or events.
        for hook, names in sorted(plugin.provides.items()) or [("", [])]:
            table.add_row(plugin.name, distribution, TABLES.get(hook, ""), ", ".join(sorted(names)))
    Console().print(table)


def _document(plugin: InstalledPlugin) -> dict[str, object]:
    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "provides": {hook: sorted(names) for hook, names in sorted(plugin.provides.items())},
    }
