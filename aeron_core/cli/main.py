"""Entry point of the command line: runs one command and returns its exit code.

Not here: the commands (index, groups) and the exit codes (outcome).
Invariant: a mistake of the user is reported on stderr, in one line or by a help text, never as a traceback.
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
from typing import NoReturn, TextIO

from aeron_core.cli.importing import kill_by_interrupt
from aeron_core.cli.outcome import (
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    exit_code_of,
    is_help,
    is_writable,
    message_of,
    print_stderr,
)

#: The command that exits without freeing its objects, because a supervisor may wait for its exit.
_DRIVER = "driver"


def main() -> None:
    """Run the command line of this process, and exit."""
    arguments = sys.argv[1:]
    is_driver = arguments[:1] == [_DRIVER]
    if is_driver:
        # Collections find nothing while modules are imported, and take a twelfth of the time until the driver is ready,
        # which then enables them again.
        gc.disable()
    code = run(arguments)
    if is_driver:
        _exit_at_once(code)
    # The interpreter collects garbage several times while it ends: 0.4 s with all modules of a driver. Frozen objects
    # are left out.
    gc.freeze()
    sys.exit(code)


def _exit_at_once(code: int) -> NoReturn:
    """Exit without freeing the modules and objects of the interpreter, which takes 0.2 s and has no effect.

    Before, in the order of the interpreter: wait for threads, run exit handlers, flush the output.
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
    """Run one command line and return its exit code; an exception that is raised is a bug."""
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
    # This package and its plugins warn users with UserWarning; other categories are for developers and keep the
    # location.
    if category is UserWarning and file is None:
        print_stderr(f"warning: {message}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, end="", file=file or sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    try:
        return _run_driver(arguments[1:]) if _is_plain_driver(arguments) else _run_program(arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if is_help(error):
            print(error, file=sys.stderr)
            return EXIT_USAGE
        code = exit_code_of(error)
        if code is None:
            raise
        print_stderr(f"error: {message_of(error)}")
        # A driver exits with 1, like aeronmd: 2 is its exit code after SIGINT, which supervisors may take for success.
        return EXIT_FAILURE if arguments[:1] == [_DRIVER] else code


def _is_plain_driver(arguments: Sequence[str]) -> bool:
    """Return whether this is the command `driver` with no argument but -Dname=value."""
    return arguments[:1] == [_DRIVER] and all(text.startswith("-D") and "=" in text for text in arguments[1:])


@kill_by_interrupt()
def _run_driver(defines: Sequence[str]) -> int:
    """Run the driver without typer: its import takes a third of the time until a driver is ready."""
    from aeron_core.cli.driver.process import DriverArguments, run_driver  # noqa: PLC0415 - lazy: for this command only

    return run_driver(DriverArguments(defines=[text.removeprefix("-D") for text in defines]))


def _run_program(arguments: Sequence[str]) -> int:
    with kill_by_interrupt():
        from aeron_core.cli.program import run_program  # noqa: PLC0415 - lazy: imports typer

    return run_program(arguments)
