"""`aeron-core errors`: shows the distinct errors of a driver."""

from __future__ import annotations

from dataclasses import asdict

from aeron_core.cli.options import AeronDir, Json, directory_of, print_json
from aeron_core.cli.tools.driver_files import DriverFiles, date_of
from aeron_core.concurrent.error_log import read_errors


def errors(aeron_dir: AeronDir = None, json: Json = False) -> None:
    """Show the distinct errors of a driver, alive or dead."""
    records = list(read_errors(DriverFiles.open(directory_of(aeron_dir)).cnc.error_log))
    if json:
        print_json([asdict(record) for record in records])
        return
    # As the C tool: in the plural also for one, and without separators of thousands. Source: error_stat.c.
    for record in records:
        first, last = date_of(record.first_observation_ms), date_of(record.last_observation_ms)
        print(f"***\n{record.observation_count} observations from {first} to {last} for:\n {record.text}")
    print(f"\n{len(records)} distinct errors observed.")
