import json

import typer

from aeron_core.cli import main
from aeron_core.errors import PluginError
from aeron_core.registry import Registry
from aeron_core.spi.hookspecs import hookimpl


class CommandPlugin:
    @hookimpl
    def aeron_cli(self, app: typer.Typer) -> None:
        @app.command("greet")
        def greet() -> None:
            print("hello from a plugin")


def test_the_built_in_plugins_are_listed_with_their_names(aeron):
    plugins = {plugin["name"]: plugin for plugin in json.loads(aeron("plugins", "list", "--json").out)}

    assert "ipc" in plugins["media_ipc"]["provides"]["aeron_media_transports"]
    assert plugins["media_ipc"]["distribution"] == "aeron-core"


def test_a_plugin_adds_commands(aeron, monkeypatch):
    with_plugin = Registry.load([CommandPlugin()])
    monkeypatch.setattr(main.Registry, "load", lambda: with_plugin)

    assert aeron("greet").out == "hello from a plugin\n"


def test_a_broken_plugin_does_not_take_the_other_commands_away(aeron, monkeypatch):
    def load() -> Registry:
        raise PluginError("plugin 'x' cannot be imported")

    monkeypatch.setattr(main.Registry, "load", load)

    outcome = aeron("--version")

    assert outcome.code == 0
    assert "plugin 'x' cannot be imported" in outcome.err


def test_a_broken_plugin_is_told_once_by_commands_that_need_all_of_them(aeron, monkeypatch):
    def load() -> Registry:
        raise PluginError("plugin 'x' cannot be imported")

    monkeypatch.setattr(main.Registry, "load", load)

    outcome = aeron("plugins", "list")

    assert outcome.code == 2
    assert outcome.err == (
        "aeron-core: warning: without the commands of plugins: plugin 'x' cannot be imported\n"
        "aeron-core: error: plugins needs all plugins, see the warning\n"
    )


def test_commands_of_a_plugin_that_fail_are_told_in_one_line_and_the_others_stay(aeron, monkeypatch):
    class FailingCommands:
        @hookimpl
        def aeron_cli(self):
            raise ImportError("no module named 'missing'")

    with_plugin = Registry()
    with_plugin.register(FailingCommands(), name="mine")
    monkeypatch.setattr(main.Registry, "load", lambda: with_plugin)

    outcome = aeron("--version")

    assert outcome.code == 0
    assert outcome.err == (
        "aeron-core: warning: without the commands of plugins: aeron_cli of plugin 'mine' of distribution "
        "'(registered by hand)' failed: ImportError: no module named 'missing'\n"
    )
