"""`aeron-core clean`: deletes the directory of a dead driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, print_json
from aeron_core.cli.outcome import print_stderr
from aeron_core.cli.text_table import counted
from aeron_core.driver.directory import delete_dead_directory
from aeron_core.errors import CncNotReadyError
from aeron_core.protocol.cnc import CNC_FILE
from aeron_core.settings import load_driver_settings


def clean(
    aeron_dir: AeronDir = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Report the files to delete, and delete nothing."),
    ] = False,
    json: Json = False,
) -> None:
    """Delete the directory of a dead driver.

    Refuses to delete the directory of a driver that is alive.
    """
    directory = directory_of(aeron_dir)
    if not (directory / CNC_FILE).exists():
        raise CncNotReadyError(
            f"no {CNC_FILE} of a media driver in {directory}; choose another directory with --aeron-dir or AERON_DIR"
        )
    length = _length(directory)
    delete_dead_directory(directory, load_driver_settings().settings.driver_timeout_ms, dry_run=dry_run)
    if json:
        print_json({"aeron_dir": str(directory), "bytes": length, "is_deleted": not dry_run})
    else:
        print_stderr(f"{'would delete' if dry_run else 'deleted'} {directory}: {counted(length, 'byte')}")


def _length(directory: Path) -> int:
    """Return the bytes of disk space of the files, which for sparse files is less than their length."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
