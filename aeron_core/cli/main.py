"""The command `aeron-core`: its sub-commands, and how it ends.

Not here: what the sub-commands do, and the exit codes (outcome).
Invariant: what a user can get wrong ends in one line on stderr, never in a traceback.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from aeron_core.cli.demo.demo import demo
from aeron_core.cli.driver.driver import driver
from aeron_core.cli.driver.plugins import plugins_app
from aeron_core.cli.driver.settings import settings_app
from aeron_core.cli.messages.device import device
from aeron_core.cli.messages.ping import ping
from aeron_core.cli.messages.pong import pong
from aeron_core.cli.messages.pub import pub
from aeron_core.cli.messages.sub import sub
from aeron_core.cli.outcome import EXIT_OK, ended, exit_code_of, message_of, say
from aeron_core.cli.records.listing import recordings_app
from aeron_core.cli.records.record import record
from aeron_core.cli.records.replay import replay
from aeron_core.cli.shipping.ship import ship
from aeron_core.cli.tools.backlog import backlog
from aeron_core.cli.tools.clean import clean
from aeron_core.cli.tools.error_log import errors
from aeron_core.cli.tools.log_inspect import log_inspect
from aeron_core.cli.tools.loss import loss
from aeron_core.cli.tools.stat import stat
from aeron_core.cli.tools.streams import streams
from aeron_core.cli.tools.terminate import terminate
from aeron_core.errors import PluginError
from aeron_core.registry import Registry
from aeron_core.version import VERSION

PROGRAM = "aeron-core"
_COMMANDS = (
    driver,
    pub,
    sub,
    ping,
    pong,
    record,
    replay,
    ship,
    device,
    stat,
    streams,
    backlog,
    errors,
    loss,
    log_inspect,
    terminate,
    clean,
    demo,
)


def main() -> None:
    """Run the command line of this process, and end the process."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        return _run(arguments)


def _say_warning(  # noqa: PLR0913 - as `warnings.showwarning`
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    # What code of ours and of plugins tells users; what is for developers keeps the place that it is about.
    if category is UserWarning and file is None:
        say(f"warning: {message}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    warned: list[str] = []
    try:
        # Without markup and without the standalone mode: usage errors are one line, as all others are.
        result = make_app(warned)(args=list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise
        text = message_of(error)
        say(f"error: {f'{arguments[0]} needs all plugins, see the warning' if text in warned else text}")
        return code
    return result if isinstance(result, int) else EXIT_OK


def make_app(warned: list[str]) -> typer.Typer:
    """Return the application with the sub-commands of this package and of all plugins.

    What is wrong with a plugin is told, and added to `warned`.
    """
    app = make_core_app()
    try:
        Registry.load().add_commands(app)
    except PluginError as error:
        # Who repairs an installation needs the other commands.
        warned.append(message_of(error))
        say(f"warning: without the commands of plugins: {warned[0]}")
    return app


def make_core_app() -> typer.Typer:
    """Return the application with the sub-commands of this package alone."""
    app = typer.Typer(
        help="Media driver and client that speak Aeron.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_program)
    for command in _COMMANDS:
        app.command(command.__name__.replace("_", "-"))(command)
    app.add_typer(plugins_app, name="plugins")
    app.add_typer(settings_app, name="settings")
    app.add_typer(recordings_app, name="recordings")
    return app


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"{PROGRAM} {VERSION}")
        raise ended(EXIT_OK)


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end."),
    ] = False,
) -> None:
    """Media driver and client that speak Aeron."""
