"""`aeron-core stat`: the counters of a driver."""

from __future__ import annotations

import re
import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from aeron_core.cli.driver_files import DriverFiles
from aeron_core.cli.interrupt import Interrupt
from aeron_core.cli.options import AeronDir, Json, directory_of, positive, print_json
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.errors import ConfigurationError

_RULE_WIDTH = 70  # as AeronStat
_VALUE_WIDTH = 26


def stat(
    aeron_dir: AeronDir = None,
    once: Annotated[bool, typer.Option("--once", help="Show them once instead of again and again.")] = False,
    json: Json = False,
    interval: Annotated[float, typer.Option(help="Seconds between two looks.")] = 1.0,
    match: Annotated[str, typer.Option(help="Only counters whose label this regular expression finds.")] = "",
) -> None:
    """Show the counters of a driver, alive or dead: live on a terminal, else once."""
    positive("--interval", interval)
    pattern = _compiled(match)
    files = DriverFiles.open(directory_of(aeron_dir))
    if json:
        print_json(_document(files, pattern))
    elif once or not sys.stdout.isatty():
        print(_page(files, pattern))
    else:
        _watch(files, pattern, interval)


def _compiled(match: str) -> re.Pattern[str]:
    try:
        return re.compile(match)
    except re.error as error:
        raise ConfigurationError(f"--match={match}: must be a regular expression: {error}") from None


def _watch(files: DriverFiles, pattern: re.Pattern[str], interval: float) -> None:
    console = Console()
    with Interrupt() as interrupt, Live(console=console, screen=True, auto_refresh=False) as live:
        while not interrupt:
            live.update(Text(_page(files, pattern), no_wrap=True, overflow="ellipsis"), refresh=True)
            interrupt.wait(interval)


def _records(files: DriverFiles, pattern: re.Pattern[str]) -> list[CounterRecord]:
    return [record for record in files.counters if pattern.search(record.label)]


def _page(files: DriverFiles, pattern: re.Pattern[str]) -> str:
    """Return header and counters, laid out as AeronStat does."""
    records = _records(files, pattern)
    age_ms = files.heartbeat_age_ms
    age = "ended" if age_ms is None else f"heartbeat age {age_ms}ms{'' if files.is_alive else ', dead'}"
    width = len(str(max((record.id for record in records), default=0)))
    lines = [
        f"{time.strftime('%H:%M:%S')} - Aeron Stat (CnC v{files.version}), pid {files.cnc.pid}, {age}",
        "=" * _RULE_WIDTH,
        *(f"{record.id:>{width}}: {record.value:>{_VALUE_WIDTH},} - {record.label}" for record in records),
    ]
    return "\n".join(lines)


def _document(files: DriverFiles, pattern: re.Pattern[str]) -> dict[str, object]:
    return {
        "aeron_dir": str(files.cnc.path.parent),
        "cnc_version": files.version,
        "pid": files.cnc.pid,
        "start_timestamp_ms": files.cnc.start_timestamp_ms,
        "heartbeat_age_ms": files.heartbeat_age_ms,
        "is_alive": files.is_alive,
        "counters": [
            {
                "id": record.id,
                "type_id": record.type_id,
                "value": record.value,
                "label": record.label,
                "registration_id": record.registration_id,
                "owner_id": record.owner_id,
                "reference_id": record.reference_id,
            }
            for record in _records(files, pattern)
        ],
    }
