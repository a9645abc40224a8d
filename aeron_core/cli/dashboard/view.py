"""Content of the page as JSON documents: all that it shows of a reading, each part under the name of its element.

Not here: what is read (`feed`), how it looks (`page`), and what limits a stream (`aeron_core.observation`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from aeron_core.cli.dashboard import plots
from aeron_core.cli.dashboard.documents import (
    Cell,
    Json,
    TableColumn,
    TableRow,
    cell_of,
    clipped,
    table,
    text_cell,
)
from aeron_core.cli.dashboard.driver_settings import ShownSetting, setting_table
from aeron_core.cli.dashboard.recordings import RecordingSize, recording_table
from aeron_core.cli.dashboard.stream_map import map_of
from aeron_core.cli.dashboard.trends import Trends, scope_of_driver, scope_of_stream
from aeron_core.cli.text_table import counted
from aeron_core.cli.top.sources import DriverStatus, Moment, ObservedDriver
from aeron_core.cli.top.tables import TABLES, ViewRow, holding_back
from aeron_core.concurrent.error_report import date_of
from aeron_core.frozen import frozen

_NS_PER_MS: Final = 1_000_000
#: Sentences about what holds streams back, and events, that are shown at most. Invented.
MAX_SENTENCES: Final = 8
#: Samples of the small plot of a row. Invented.
_LINE_SAMPLES: Final = 30
#: Columns of the tables of `aeron-core top` with numbers.
_NUMBERS: Final = frozenset(
    {
        *("stream", "rate", "behind", "stopped", "lost", "publisher", "sender", "receiver", "subscriber"),
        *("session", "process", "heartbeat", "streams", "clients", "errors", "count"),
    }
)
_HELP: Final[Mapping[str, str]] = {
    "rate": "bytes per second that were published, or received",
    "behind": "bytes that the limiting party, else the slowest one, is behind",
    "limited by": "party that holds the stream back",
    "stopped": "how often per second flow control stopped the sender",
    "lost": "bytes in the loss report of the driver, and their share of the receiver position",
    "publisher": "position up to which publishers have offered",
    "sender": "position up to which was sent",
    "receiver": "position up to which all was received",
    "subscriber": "position of the slowest subscriber",
}
_EMPTY: Final[Mapping[str, str]] = {
    "streams": "no stream",
    "drivers": "no driver was found",
    "errors": "no error",
}


@frozen()
class Reading:
    """What was read at one time: of drivers, and of what belongs to no driver."""

    moment: Moment
    recordings: tuple[RecordingSize, ...] = ()
    settings: tuple[ShownSetting, ...] = ()
    queries: Json = field(default_factory=dict)  # table of the lags of Spark queries
    problems: tuple[str, ...] = ()  # sources that could not be read
    player: Json | None = None  # controls of a recorded history; None for drivers that run


def document_of(reading: Reading, trends: Trends, scope: str) -> dict[str, Json]:
    """Return the content of each element of the page; `scope` selects what the plots show."""
    names = names_of(reading.moment.drivers)
    tables = {
        kind.name: table(
            kind.name.capitalize(),
            [TableColumn(name, name in _NUMBERS, _HELP.get(name, "")) for name in kind.columns],
            (_row(row, kind.columns, names, trends) for row in kind.rows(reading.moment)),
            _EMPTY[kind.name],
            scope,
        )
        for kind in TABLES
    }
    return {
        "bar": _bar(reading),
        "plots": plots.document(
            trends, scope, at_ns=None if reading.player is None else reading.moment.time_ns
        ),
        "map": map_of(reading.moment, names),
        **tables,
        "recordings": recording_table(reading.moment, names, reading.recordings),
        **({"queries": reading.queries} if reading.queries else {}),
        "settings": setting_table(reading.settings, names),
    }


def names_of(drivers: Iterable[ObservedDriver]) -> dict[Path, str]:
    """Return a name for each driver: the last part of its directory if no other driver has the same, else the whole."""
    paths = [driver.state.aeron_dir for driver in drivers]
    counts = Counter(path.name for path in paths)
    return {path: path.name if path.name and counts[path.name] == 1 else str(path) for path in paths}


def _bar(reading: Reading) -> Json:
    moment = reading.moment
    alive = sum(each.status is DriverStatus.ALIVE for each in moment.drivers)
    snapshots = [each.snapshot for each in moment.drivers if each.snapshot is not None]
    drivers = counted(len(moment.drivers), "driver")
    sentences = holding_back(moment)
    return {
        "time": date_of(moment.time_ns // _NS_PER_MS)[:19],
        "facts": [
            drivers if alive == len(moment.drivers) else f"{drivers}, {alive} alive",
            counted(len({(s.stream_id, s.session_id) for each in snapshots for s in each.streams}), "stream"),
            counted(sum(len(each.clients) for each in snapshots), "client"),
        ],
        "limits": [clipped(each) for each in sentences[:MAX_SENTENCES]],
        "more": max(len(sentences) - MAX_SENTENCES, 0),
        "problems": [clipped(each) for each in reading.problems[:MAX_SENTENCES]],
        "events": [clipped(each) for each in moment.events[:MAX_SENTENCES]],
        "player": reading.player,
    }


def _row(row: ViewRow, columns: tuple[str, ...], names: Mapping[Path, str], trends: Trends) -> TableRow:
    cells = [cell_of(cell) for cell in row.cells]
    if "driver" in columns:
        cells[columns.index("driver")] = _driver_cell(row.driver, names)
    scope, line = "", []
    if columns[0] == "stream":
        stream_id, session_id, is_image = row.key[1:4]
        assert isinstance(stream_id, int)
        assert isinstance(session_id, int)
        scope = scope_of_stream(stream_id, session_id)
        line = trends.values(scope, "received" if is_image else "published", _LINE_SAMPLES)
    elif columns[0] == "directory":
        scope = scope_of_driver(row.driver)
    return TableRow(repr(row.key), tuple(cells), scope, line, row.text)


def _driver_cell(driver: ObservedDriver, names: Mapping[Path, str]) -> Cell:
    name = names[driver.state.aeron_dir]
    is_alive = driver.status is DriverStatus.ALIVE
    return text_cell(name if is_alive else f"{name} ({driver.status})", is_alert=not is_alive)
