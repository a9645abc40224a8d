"""Options for the mode and the group of new folders of recordings."""

from __future__ import annotations

from typing import Annotated

import typer

from aeron_core.errors import ConfigurationError
from aeron_core.file_access import FileAccess
from aeron_core.settings.variables import FolderMode

DirMode = Annotated[
    str | None,
    typer.Option(
        metavar="MODE",
        help="Mode of new folders, such as 0750, and without execution of new files; default: 0700, or 0770 with "
        "--dir-group.",
    ),
]
DirGroup = Annotated[str | None, typer.Option(metavar="GROUP", help="Group of new files, by name or number.")]


def access_of(mode: str | None, group: str | None) -> FileAccess:
    """Return the access that the options give; raise ConfigurationError if one is wrong."""
    try:
        number = FolderMode("--dir-mode", optional=True).check(mode)
    except ConfigurationError as error:
        raise ConfigurationError(f"--dir-mode={error}") from None
    assert number is None or isinstance(number, int)
    return FileAccess.of(number, group or "")
