"""`aeron-core stat`: shows the counters of a driver."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aeron_core.cli.options import AeronDir, Json, directory_of, positive, print_json
from aeron_core.cli.outcome import print_stderr, printable
from aeron_core.cli.quantities import wait_s
from aeron_core.cli.text_table import BOLD, CYAN, DIM, RED, painted
from aeron_core.cli.tools.counter_selection import Types, beginning_of_label, compiled, names_of_type
from aeron_core.cli.tools.live import Interval, Once, show
from aeron_core.cli.tools.streams import SessionOption, StreamOption
from aeron_core.concurrent.counter_types import STREAM_TYPES, SYSTEM, owner_of
from aeron_core.concurrent.counters import CounterRecord
from aeron_core.concurrent.error_report import date_of
from aeron_core.errors import ConfigurationError, DriverTimeoutError
from aeron_core.observation.driver_files import DRIVER_TIMEOUT_MS, DriverFiles

_RULE_WIDTH = 70  # as AeronStat
_VALUE_WIDTH = 26


class CounterFormat(StrEnum):
    """Output format of counters."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


Alive = Annotated[
    bool,
    typer.Option(
        "--alive",
        help="Print only a line on the heartbeat of the driver; exit code 1 if it is older than 10 s.",
    ),
]
HistoryFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Record the counters into this file, which must not exist, instead of showing them: .arrows can be read "
        "at any time, .parquet once the command has ended. Needs the extra arrow.",
    ),
]
Duration = Annotated[
    float | None,
    typer.Option(
        metavar="DURATION", parser=wait_s, help="With --history: end after this time; default: by a signal."
    ),
]


def stat(  # noqa: PLR0913 - the options of the command
    aeron_dir: AeronDir = None,
    once: Once = False,
    json: Json = False,
    output: Annotated[
        CounterFormat,
        typer.Option("--format", metavar="FORMAT", help="Output format: text, json or prometheus."),
    ] = CounterFormat.TEXT,
    interval: Interval = 1.0,
    match: Annotated[
        str, typer.Option(metavar="REGEX", help="Show only counters with a matching label.")
    ] = "",
    type_: Types = None,
    session: SessionOption = None,
    stream: StreamOption = None,
    alive: Alive = False,
    history: HistoryFile = None,
    duration: Duration = None,
) -> None:
    """Show the counters of a driver, alive or dead, or record them.

    Updates continuously on a terminal. With --alive it is a health check for supervisors of processes and containers.
    """
    positive("--interval", interval)
    if alive and (json or history is not None or output is not CounterFormat.TEXT):
        raise ConfigurationError(
            "--alive prints a line only: leave out --json, --format and --history, or leave out --alive"
        )
    if history is not None:
        from aeron_core.cli.tools.recorded_counters import record_counters  # noqa: PLC0415 - lazy: only --history needs it

        _check_history(once=once, output=output, duration=duration)
        select = _Selection(compiled("--match", match), tuple(type_ or ()), session, stream).of
        limit_s = 0.0 if once else duration
        record_counters(directory_of(aeron_dir), history, select, interval, limit_s, json=json)
        return
    if duration is not None:
        raise ConfigurationError(f"--duration={duration:g}: only with --history; name a file to record into")
    if json and output is CounterFormat.PROMETHEUS:
        raise ConfigurationError(f"--json and --format={output}: only one of them is allowed")
    selection = _Selection(compiled("--match", match), tuple(type_ or ()), session, stream)
    files = DriverFiles.open(directory_of(aeron_dir))
    if alive:
        print(_heartbeat(files))
        return
    if next(selection.of(files.counters), None) is None:
        print_stderr("warning: no counter matches: " + selection.reason(files))
    if json or output is CounterFormat.JSON:
        print_json(_document(files, selection))
    elif output is CounterFormat.PROMETHEUS:
        from aeron_core.metrics.prometheus import prometheus_text  # noqa: PLC0415 - imports prometheus_client: only for this format
        from aeron_core.metrics.samples import driver_samples  # noqa: PLC0415 - only for this format

        print(prometheus_text(lambda: driver_samples(files, selection.of(files.counters))), end="")
    else:
        show(lambda: _page(files, selection), interval, once=once)


def _check_history(*, once: bool, output: CounterFormat, duration: float | None) -> None:
    """Raise ConfigurationError for options that --history excludes."""
    positive("--duration", duration)
    if output is not CounterFormat.TEXT:
        raise ConfigurationError(f"--history and --format={output}: only one of them is allowed")
    if once and duration is not None:
        raise ConfigurationError(
            "--once and --duration: only one of them is allowed; --once records one snapshot"
        )


@dataclass(frozen=True, slots=True)
class _Selection:
    label: re.Pattern[str]
    types: tuple[str, ...]
    session: int | None
    stream: int | None

    def of(self, records: Iterable[CounterRecord]) -> Iterator[CounterRecord]:
        return (record for record in records if self._has(record))

    def reason(self, files: DriverFiles) -> str:
        """Return why no counter matches: an unknown type, or the combination of all options."""
        streams = {beginning_of_label(record) for record in files.counters if record.type_id != SYSTEM}
        known = ", ".join([str(SYSTEM), *sorted(streams)])
        strange = set(self.types) - {name for record in files.counters for name in names_of_type(record)}
        if strange:
            return f"no counter has type {', '.join(sorted(strange))}; present: {known}"
        return "no counter satisfies all of --match, --type, --session and --stream"

    def _has(self, record: CounterRecord) -> bool:
        if not self.label.search(record.label):
            return False
        if self.types and not names_of_type(record).intersection(self.types):
            return False
        if self.session is None and self.stream is None:
            return True
        owner = owner_of(record) if record.type_id in STREAM_TYPES else None
        return (
            owner is not None
            and self.session in (None, owner.session_id)
            and self.stream in (None, owner.stream_id)
        )


def _heartbeat(files: DriverFiles) -> str:
    """Return a line on the heartbeat of a live driver; raise DriverTimeoutError if the driver is not alive."""
    age_ms = files.heartbeat_age_ms
    if age_ms is None:
        raise DriverTimeoutError(f"the driver of {files.cnc.path.parent} has ended: start it again")
    if not files.is_alive:
        raise DriverTimeoutError(
            f"the driver of {files.cnc.path.parent}, pid {files.cnc.pid}, has been silent for {age_ms} ms, at most "
            f"{DRIVER_TIMEOUT_MS} are allowed: stop that process if it still exists, and start a driver"
        )
    return f"driver with pid {files.cnc.pid}: heartbeat age {age_ms} ms"


def _page(files: DriverFiles, selection: _Selection) -> str:
    """Return the header and the counters, in the layout of the reference's tool. Source: aeron_stat.c."""
    records = list(selection.of(files.counters))
    age_ms = files.heartbeat_age_ms
    age = "ended" if age_ms is None else f"heartbeat age {age_ms}ms{'' if files.is_alive else ', dead'}"
    # Wide enough for the largest id.
    width = len(str(files.counters.max_counter_id))
    title = (
        f"{date_of(time.time_ns() // 1_000_000)} - Aeron Stat (CnC v{files.version}), pid {files.cnc.pid}, "
    )
    lines = [painted(title, BOLD) + painted(age, BOLD if files.is_alive else RED), "=" * _RULE_WIDTH]
    for record in records:
        value = painted(f"{record.value:>{_VALUE_WIDTH},}", CYAN if record.value else DIM)
        lines.append(f"{painted(f'{record.id:>{width}}:', DIM)} {value} - {printable(record.label, kept='')}")
    return "\n".join(lines)


def _document(files: DriverFiles, selection: _Selection) -> dict[str, object]:
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
            for record in selection.of(files.counters)
        ],
    }
