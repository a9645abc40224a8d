import importlib
import json
import sys

import pytest
import typer

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
    monkeypatch.setattr(Registry, "load", lambda: with_plugin)

    assert aeron("greet").out == "hello from a plugin\n"


@pytest.fixture
def foreign_plugin(tmp_path, monkeypatch):
    """Install a distribution with a plugin of its own; its source is given."""

    def install(source):
        (tmp_path / "foreign_plugin.py").write_text(source)
        info = tmp_path / "foreign-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text("[aeron_core]\nmain = foreign_plugin\n")
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, "foreign_plugin", raising=False)

    return install


GREET = """
from aeron_core.spi.hookspecs import hookimpl

@hookimpl
def aeron_cli(app):
    @app.command("greet", help="Greet the user.")
    def greet():
        print("hello")

@hookimpl
def aeron_flow_controls():
    return {"foreign": None}
"""


def test_help_has_the_commands_of_a_plugin_of_another_distribution(aeron, foreign_plugin):
    foreign_plugin(GREET)

    out = aeron("--help").out

    assert "\n  greet        Greet the user.\n" in out
    assert out.count("\n  pipeline ") == 1


def test_the_list_has_a_plugin_of_another_distribution(aeron, foreign_plugin):
    foreign_plugin(GREET)

    plugins = {plugin["name"]: plugin for plugin in json.loads(aeron("plugins", "list", "--json").out)}

    assert plugins["main"] == {
        "name": "main",
        "distribution": "foreign",
        "version": "1.5",
        "provides": {"aeron_flow_controls": ["foreign"]},
    }
    assert plugins["media_ipc"]["provides"] == {"aeron_media_transports": ["ipc"]}


def test_a_broken_plugin_leaves_the_other_commands_usable(aeron, foreign_plugin):
    foreign_plugin("import no_such_module_at_all")

    outcome = aeron("--help")

    assert outcome.code == 0
    assert "\n  stat " in outcome.out
    assert outcome.err.startswith(
        "aeron-core: warning: without the commands of plugins: plugin 'main' of distr"
    )
    assert aeron("--version").err == ""


def test_the_list_fails_because_of_a_broken_plugin(aeron, foreign_plugin):
    foreign_plugin("import no_such_module_at_all")

    outcome = aeron("plugins", "list")

    assert outcome.code == 2
    assert outcome.err.startswith(
        "aeron-core: error: plugin 'main' of distribution 'foreign' cannot be imported"
    )
    assert outcome.err.count("\n") == 1


def test_commands_of_a_plugin_that_fail_are_reported_in_one_line(aeron, monkeypatch):
    class FailingCommands:
        @hookimpl
        def aeron_cli(self):
            raise ImportError("no module named 'missing'")

    with_plugin = Registry()
    with_plugin.register(FailingCommands(), name="mine")
    monkeypatch.setattr(Registry, "load", lambda: with_plugin)

    outcome = aeron("greet")

    assert outcome.code == 2
    assert outcome.err == (
        "aeron-core: warning: without the commands of plugins: aeron_cli of plugin 'mine' of distribution "
        "'(registered by hand)' failed: ImportError: no module named 'missing'; repair or uninstall the plugin\n"
        "aeron-core: error: no command 'greet': see aeron-core --help\n"
    )
