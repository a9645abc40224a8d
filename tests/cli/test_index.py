"""The index of commands and plugins equals what they return themselves."""

import inspect
from importlib import import_module

import pytest
import typer

from aeron_core.cli import index
from aeron_core.cli.groups import commands_of
from aeron_core.registry import TABLES, Registry
from aeron_core.uri.keys import CHANNEL_KEYS
from aeron_core.version import DISTRIBUTION


def commands(entries, path=()):
    for name, entry in entries.items():
        if entry.commands:
            yield from commands(entry.commands, (*path, name))
        else:
            yield pytest.param(entry, id=" ".join((*path, name)))


@pytest.mark.parametrize("entry", list(commands(index.COMMANDS)))
def test_the_index_has_the_first_line_of_the_help_of_each_command(entry):
    module, _, function = entry.target.partition(":")

    command = getattr(import_module(f"aeron_core.cli.{module}"), function)

    assert entry.help == inspect.getdoc(command).splitlines()[0]


def test_the_index_has_every_module_that_defines_a_command():
    targets = {parameter.values[0].target for parameter in commands(index.COMMANDS)}

    assert len(targets) == len(list(commands(index.COMMANDS)))


def test_the_index_has_the_commands_of_the_plugins():
    app = typer.Typer(rich_markup_mode=None)
    app.callback()(lambda: None)
    Registry.load().add_commands(app)

    assert {name: command.help for name, command in commands_of(app).items()} == index.PLUGIN_COMMANDS


def test_the_index_has_what_the_plugins_provide():
    provided = {
        plugin.name: {hook: tuple(sorted(names)) for hook, names in plugin.provides.items()}
        for plugin in Registry.load().plugins()
        if plugin.distribution == DISTRIBUTION
    }

    assert provided == index.PLUGINS
    assert dict(index.HOOKS) == dict(TABLES)


def test_the_index_has_the_keys_of_the_media():
    registry = Registry.load()
    names = [
        name
        for plugin in registry.plugins()
        if plugin.distribution == DISTRIBUTION
        for name in plugin.provides.get("aeron_media_transports", [])
    ]

    assert {name: registry.media(name).uri_keys - CHANNEL_KEYS for name in names} == index.MEDIA_KEYS
