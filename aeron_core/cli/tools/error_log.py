"""`aeron-core errors`: shows the distinct errors of a driver."""

from __future__ import annotations

from dataclasses import asdict

from aeron_core.cli.options import AeronDir, Json, directory_of, print_json
from aeron_core.cli.outcome import printable
from aeron_core.concurrent.error_log import read_errors
from aeron_core.concurrent.error_report import lines_of
from aeron_core.observation.driver_files import DriverFiles


def errors(aeron_dir: AeronDir = None, json: Json = False) -> None:
    """Show the distinct errors of a driver, alive or dead."""
    records = list(read_errors(DriverFiles.open(directory_of(aeron_dir)).cnc.error_log))
    if json:
        print_json([asdict(record) for record in records])
        return
    print(printable("\n".join(lines_of(records))))
