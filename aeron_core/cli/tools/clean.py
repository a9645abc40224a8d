"""`aeron-core clean`: what drivers that have died have left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, print_json
from aeron_core.cli.outcome import say
from aeron_core.driver.directory import delete_dead_directory
from aeron_core.errors import CncNotReadyError
from aeron_core.protocol.cnc import CNC_FILE
from aeron_core.settings import load_driver_settings


def clean(
    aeron_dir: AeronDir = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Report what would be deleted, and delete nothing."),
    ] = False,
    json: Json = False,
) -> None:
    """Delete the directory of a driver that has died; one that lives keeps its own."""
    directory = directory_of(aeron_dir)
    if not (directory / CNC_FILE).exists():
        raise CncNotReadyError(
            f"no media driver has left anything in {directory}; choose another with --aeron-dir"
        )
    length = _length(directory)
    delete_dead_directory(directory, load_driver_settings().settings.driver_timeout_ms, dry_run=dry_run)
    if json:
        print_json({"aeron_dir": str(directory), "bytes": length, "is_deleted": not dry_run})
    else:
        say(f"{'would delete' if dry_run else 'deleted'} {directory}: {length:,} bytes")


def _length(directory: Path) -> int:
    """Return the bytes that the files take, sparse ones less than they are long."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
