"""Entry point of the command line: runs one command and returns its exit code.

Not here: the commands (index, groups) and the exit codes (outcome).
Invariant: a mistake of the user is reported in one line on stderr, never as a traceback.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NoReturn, TextIO

import typer

from aeron_core.cli.groups import ProgramGroup, make_app, make_lazy_group
from aeron_core.cli.index import COMMANDS
from aeron_core.cli.outcome import (
    EXIT_OK,
    EXIT_USAGE,
    ended,
    exit_code_of,
    is_help,
    is_writable,
    message_of,
    print_stderr,
)
from aeron_core.version import VERSION

PROGRAM = "aeron-core"
_HELP = "Media driver and client that speak Aeron."


#: The command whose supervisor waits for its end, and which has nothing left to free then.
_DRIVER = "driver"


def main() -> None:
    """Run the command line of this process, and exit."""
    arguments = sys.argv[1:]
    code = run(arguments)
    if arguments[:1] == [_DRIVER]:
        _exit_at_once(code)
    # The interpreter collects garbage several times while it ends: 0.4 s with all modules of a driver. Frozen objects
    # are left out.
    gc.freeze()
    sys.exit(code)


def _exit_at_once(code: int) -> NoReturn:
    """Exit without freeing the modules and objects of the interpreter, which takes 0.2 s and has no effect.

    What has an effect is done first, in the interpreter's own order: threads end, exit handlers run, output is flushed.
    """
    # Joins the threads that are not daemons, and those of executors; has no public name.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # The reader of a pipe may have ended before the driver, or no longer read.
        with suppress(OSError, ValueError):
            if is_writable(stream):
                stream.flush()
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _run(arguments)


def _show_warning(  # noqa: PLR0913 - as `warnings.showwarning`
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    # A UserWarning of this package or of a plugin is for users; others are for developers and keep their location.
    if category is UserWarning and file is None:
        print_stderr(f"warning: {message}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    program = make_lazy_group(COMMANDS, _HELP, _program, ProgramGroup)
    try:
        # Without the standalone mode, which prints usage errors in several lines.
        result = program.main(args=list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except Exception as error:
        if is_help(error):
            print(error, file=sys.stderr)
            return EXIT_USAGE
        code = exit_code_of(error)
        if code is None:
            raise
        print_stderr(f"error: {message_of(error)}")
        return code
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
