"""Groups of commands, which import a command of the index only when it is named.

Not here: which commands there are (index) and what a command does with its arguments (command).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

import typer
from typer.core import CompletionItem, TyperGroup  # type: ignore[attr-defined]

from aeron_core.cli.command import CoreCommand
from aeron_core.cli.conversion import replace_conversions
from aeron_core.cli.importing import kill_by_interrupt
from aeron_core.cli.index import PLUGIN_COMMANDS, IndexEntry
from aeron_core.cli.outcome import EXIT_OK, EXIT_USAGE, ended, message_of, print_stderr
from aeron_core.errors import PluginError
from aeron_core.version import DISTRIBUTION

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: Entry-point group of plugins. Not imported from aeron_core.spi.hookspecs, which imports pydantic.
ENTRY_POINTS = "aeron_core"


class LazyGroup(TyperGroup):
    """A group with the commands of `entries`, a part of the index; `make_lazy_group` derives a class for each group."""

    entries: ClassVar[Mapping[str, IndexEntry]]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options; those of the types of `conversion` convert their values without pydantic."""
        return replace_conversions(super().get_params(ctx))

    def helps(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the one-line help of each command."""
        for name, entry in self.entries.items():
            yield name, entry.help

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [name for name, _ in self.helps()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, which is imported at its first use; None if there is no such command."""
        if cmd_name not in self.commands:
            with kill_by_interrupt():
                command = self.load(cmd_name)
            if command is None:
                return None
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def load(self, name: str) -> Any:
        """Import a command and return it; None if there is no such command."""
        entry = self.entries.get(name)
        if entry is None:
            return None
        if entry.commands:
            return make_lazy_group(entry.commands, entry.help, _no_options, LazyGroup)
        return commands_of(make_app({name: entry}))[name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and remaining arguments, as click does.

        If there is no such command, fail with a usage error that suggests similar names.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            near = get_close_matches(name, self.list_commands(ctx))
            hint = f"did you mean {' or '.join(near)}?" if near else f"see {ctx.command_path} --help"
            ctx.fail(f"no command {name!r}: {hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options and return the remaining arguments; without arguments, print the help and raise the exit.

        The help of the program goes to stdout, exit code 0; that of a group to stderr, exit code 2.
        """
        if not args and not ctx.resilient_parsing:
            is_program = ctx.parent is None
            typer.echo(ctx.get_help(), err=not is_program)
            raise ended(EXIT_OK if is_program else EXIT_USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and the one-line helps of all commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.helps()))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with `incomplete`."""
        if incomplete.startswith("-"):
            options = [name for param in self.get_params(ctx) for name in param.opts]
            return [CompletionItem(name) for name in options if name.startswith(incomplete)]
        return [
            CompletionItem(name, help=help_) for name, help_ in self.helps() if name.startswith(incomplete)
        ]


class ProgramGroup(LazyGroup):
    """The whole program: commands of the index, then those of plugins.

    For a command that the index does not have, all plugins are imported.
    """

    def helps(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the one-line help of each command, including those of plugins."""
        yield from super().helps()
        yield from PLUGIN_COMMANDS.items()
        # Plugins of other distributions are in no index: their commands are known once they are imported.
        if any(not is_bundled(plugin) for plugin in installed_plugins()):
            for name, command in self._plugin_commands().items():
                if name not in PLUGIN_COMMANDS and name not in self.entries:
                    yield name, command.get_short_help_str(limit=120)

    def load(self, name: str) -> Any:
        """Import a command of this package or of a plugin and return it; None if there is no such command."""
        return super().load(name) or self._plugin_commands().get(name)

    def _plugin_commands(self) -> Mapping[str, Any]:
        if self._found is None:
            app = typer.Typer(rich_markup_mode=None, add_completion=False)
            app.callback()(_no_options)
            from aeron_core.registry import Registry  # noqa: PLC0415 - imports pydantic, and then all plugins

            try:
                Registry.load().add_commands(app)
            except PluginError as error:
                # The other commands stay usable, to repair the installation.
                print_stderr(f"warning: without the commands of plugins: {message_of(error)}")
            self._found = commands_of(app)
        return self._found

    _found: Mapping[str, Any] | None = None


def make_lazy_group(
    entries: Mapping[str, IndexEntry], help_: str, callback: Callable[..., None], kind: type[LazyGroup]
) -> LazyGroup:
    """Return a group of class `kind` with the commands of `entries` and the options of `callback`."""
    app = typer.Typer(
        # Typer constructs the group itself, and takes only a class: the commands are an attribute of the class.
        cls=type(kind.__name__, (kind,), {"entries": entries}),
        help=help_,
        rich_markup_mode=None,
        add_completion=kind is ProgramGroup,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            # None: colours on a terminal. Source: no-color.org.
            "color": False if os.environ.get("NO_COLOR") else None,
        },
    )
    app.callback()(callback)
    return cast(LazyGroup, typer.main.get_command(app))


def make_app(entries: Mapping[str, IndexEntry]) -> typer.Typer:
    """Return an application with the commands of `entries`, all imported."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.callback()(_no_options)
    for name, entry in entries.items():
        if entry.commands:
            app.add_typer(make_app(entry.commands), name=name, help=entry.help)
        else:
            module, _, function = entry.target.partition(":")
            command = getattr(import_module(f"aeron_core.cli.{module}"), function)
            app.command(name, cls=CoreCommand)(command)
    return app


def commands_of(app: typer.Typer) -> Mapping[str, Any]:
    """Return the commands of an application by name."""
    return cast(TyperGroup, typer.main.get_command(app)).commands


def installed_plugins() -> list[EntryPoint]:
    """Return the entry points of all plugins, once each: an editable install may list its own twice."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import: commands of the index need no metadata

    found = entry_points(group=ENTRY_POINTS)
    return list({(distribution_of(point), point.name): point for point in found}.values())


def is_bundled(plugin: EntryPoint) -> bool:
    """Return whether a plugin belongs to this distribution."""
    return distribution_of(plugin) == DISTRIBUTION


def distribution_of(plugin: EntryPoint) -> str:
    """Return the name of a plugin's distribution, `unknown` if the entry point has none."""
    return plugin.dist.name if plugin.dist else "unknown"


def fault_of_name(hook: str, name: str) -> str:
    """Return why no installed plugin has a name in the table of `hook`; empty if one has it."""
    from aeron_core.registry import Registry  # noqa: PLC0415 - imports pydantic, and then all plugins

    try:
        Registry.load().check(hook, name)
    except PluginError as error:
        return str(error)
    return ""


def _no_options() -> None:
    """Do nothing: callback of a group that has no options."""
