"""The commands as a typer application: the program of the command line, and the global options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from aeron_core.cli.groups import ProgramGroup, make_app, make_lazy_group
from aeron_core.cli.index import COMMANDS
from aeron_core.cli.outcome import EXIT_OK, ended
from aeron_core.version import VERSION

PROGRAM = "aeron-core"
_COMPLETION_OPTIONS = ("--show-completion", "--install-completion")
HELP = "Media driver and client that speak Aeron."


def run_program(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; raise what the command raises, and the usage errors of typer."""
    if any(text.startswith(_COMPLETION_OPTIONS) for text in arguments[:1]):
        from aeron_core.cli.completion import use_own_scripts  # noqa: PLC0415 - only for these options

        use_own_scripts()
    program = make_lazy_group(COMMANDS, HELP, _program, ProgramGroup)
    # Without the standalone mode, which prints usage errors in several lines.
    result = program.main(args=list(arguments), prog_name=PROGRAM, standalone_mode=False)
    return result if isinstance(result, int) else EXIT_OK


def make_core_app() -> typer.Typer:
    """Return an application with the commands of this package alone, all imported."""
    return make_app(COMMANDS)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        print(f"{PROGRAM} {VERSION}")
        raise ended(EXIT_OK)


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Media driver and client that speak Aeron."""
