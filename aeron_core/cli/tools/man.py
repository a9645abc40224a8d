"""`aeron-core man`: shows the manual page of a command, or writes those of all commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from aeron_core.cli.outcome import ended, is_tty
from aeron_core.cli.tools.man_pages import SECTION, man_page, man_pages
from aeron_core.errors import ConfigurationError

#: Folder in which `man` looks for the pages of programs of an environment whose `bin` is in PATH.
_FOLDER: Final = Path(sys.prefix) / "share" / "man"


def man(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Command, such as recordings list; default: the program."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write the pages of all commands, so that `man aeron-core-pub` shows one of them."
        ),
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            help="Folder of manual pages for --write; default: share/man of the Python environment, which `man` "
            "searches while that environment is active.",
        ),
    ] = None,
) -> None:
    """Show the manual page of a command, or write those of all commands for `man`.

    On a terminal the page is shown by the program `man`; elsewhere the page itself is written, in roff. The pages are
    made from the help texts of this version, those of plugins included.
    """
    program = context.find_root().command
    if write:
        if names:
            raise ConfigurationError(
                f"--write and {' '.join(names)}: the pages of all commands are written; leave out the command"
            )
        folder = (to or _FOLDER) / f"man{SECTION}"
        folder.mkdir(parents=True, exist_ok=True)
        count = 0
        for name, text in man_pages(program):
            (folder / name).write_text(text, encoding="utf-8")
            count += 1
        print(f"{count} pages written to {folder}")
        return
    if to is not None:
        raise ConfigurationError(f"--to={to}: only allowed with --write")
    page = man_page(program, names or [])
    if page is None:
        raise ConfigurationError(f"no command {' '.join(names or [])!r}: see aeron-core --help")
    viewer = shutil.which("man") if is_tty(sys.stdout) else None
    if viewer is None:
        print(page, end="")
        return
    raise ended(subprocess.run([viewer, "-l", "-"], input=page.encode(), check=False).returncode)
