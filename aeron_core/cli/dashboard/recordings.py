"""Recordings on the page: of the counters of drivers, and of archives that the user has named.

Not here: reading recordings (`aeron_core.recording`). Archives change slowly and may be remote, so they are read less
often than drivers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from aeron_core.cli.dashboard.documents import Json, TableColumn, TableRow, number_cell, table, text_cell
from aeron_core.cli.top.sources import Moment
from aeron_core.cli.top.tables import UNKNOWN, rate_text
from aeron_core.errors import AeronError
from aeron_core.frozen import frozen
from aeron_core.observation.counter_fields import fields_of
from aeron_core.observation.limitation import size_text

#: Seconds between two readings of an archive, and recordings of one that are read. Invented.
ARCHIVE_INTERVAL_S: Final = 5.0
_MAX_RECORDINGS: Final = 1000

_COLUMNS: Final = (
    TableColumn("recording", is_number=True),
    TableColumn("state"),
    TableColumn("size", is_number=True, help="bytes from the first position to the last one"),
    TableColumn("growth", is_number=True, help="bytes per second"),
    TableColumn("position", is_number=True),
    TableColumn("stream", is_number=True),
    TableColumn("session", is_number=True),
    TableColumn("where", help="driver with the counter, or archive"),
    TableColumn("channel or source"),
)


@frozen()
class RecordingSize:
    """A recording of an archive; `growth` is in bytes per second, None if unknown."""

    archive: str
    recording_id: int
    state: str
    channel: str
    stream_id: int
    session_id: int
    position: int
    length: int
    growth: float | None = None


class ArchiveReader:
    """Reads archives. One thread at a time reads; the results may be used by others."""

    def __init__(self, archives: Sequence[str]) -> None:
        """Open nothing: an archive may be created later."""
        self._archives = archives
        self._read_s = 0.0
        self._positions: dict[tuple[str, int], int] = {}
        #: Recordings of the last reading.
        self.found: tuple[RecordingSize, ...] = ()
        #: Why an archive, or a recording, could not be read.
        self.problems: tuple[str, ...] = ()

    def read(self) -> None:
        """Read once; an archive that cannot be read is a problem."""
        now_s = time.monotonic()
        problems: list[str] = []
        elapsed_s = now_s - self._read_s
        found = [
            each for archive in self._archives for each in self._recordings(archive, elapsed_s, problems)
        ]
        self._positions = {(each.archive, each.recording_id): each.position for each in found}
        self.found, self.problems, self._read_s = tuple(found), tuple(problems), now_s

    def _recordings(self, uri: str, elapsed_s: float, problems: list[str]) -> Iterator[RecordingSize]:
        from aeron_core.recording.retention.states import state_of  # noqa: PLC0415 - lazy: only --archive needs it
        from aeron_core.recording.storage.archive import Archive  # noqa: PLC0415 - lazy: only --archive needs it

        try:
            recordings = Archive.open(uri).recordings()
        except (AeronError, OSError) as error:
            problems.append(f"archive {uri}: {error}")
            return
        for recording in recordings[-_MAX_RECORDINGS:]:
            try:
                descriptor, position = recording.descriptor, recording.position
                state = state_of(recording, time.time_ns()).value
            except (AeronError, OSError) as error:
                problems.append(f"archive {uri}: {error}")
                continue
            before = self._positions.get((uri, descriptor.recording_id))
            yield RecordingSize(
                uri,
                descriptor.recording_id,
                state,
                descriptor.channel,
                descriptor.stream_id,
                descriptor.session_id,
                position,
                position - descriptor.start_position,
                None if before is None else max(position - before, 0) / elapsed_s,
            )


def recording_table(moment: Moment, names: Mapping[Path, str], recordings: Iterable[RecordingSize]) -> Json:
    """Return the table of all recordings, those of counters first."""
    rows = [*_counter_rows(moment, names), *map(_archive_row, recordings)]
    return table("Recordings", _COLUMNS, rows, "no recording; --archive adds those of an archive")


def _counter_rows(moment: Moment, names: Mapping[Path, str]) -> Iterator[TableRow]:
    for driver in moment.drivers:
        for record in driver.snapshot.recordings if driver.snapshot else ():
            fields = fields_of(record)
            growth = None if driver.rates is None else driver.rates.per_second.get(record.id)
            identity, session = fields.get("recording_id"), fields.get("session_id")
            cells = (
                number_cell(str(identity), _number(identity)),
                text_cell("counter"),
                number_cell(UNKNOWN, None),
                number_cell(rate_text(growth), growth),
                number_cell(f"{record.value:,}", record.value),
                number_cell(UNKNOWN, None),
                number_cell(str(session), _number(session)),
                text_cell(names[driver.state.aeron_dir]),
                text_cell(fields.get("source", record.label)),
            )
            yield TableRow(f"counter {driver.state.aeron_dir} {record.id}", cells)


def _archive_row(recording: RecordingSize) -> TableRow:
    cells = (
        number_cell(str(recording.recording_id), recording.recording_id),
        text_cell(recording.state, is_alert=recording.state == "abandoned"),
        number_cell(size_text(recording.length), recording.length),
        number_cell(rate_text(recording.growth), recording.growth),
        number_cell(f"{recording.position:,}", recording.position),
        number_cell(str(recording.stream_id), recording.stream_id),
        number_cell(str(recording.session_id), recording.session_id),
        text_cell(recording.archive),
        text_cell(recording.channel),
    )
    return TableRow(f"archive {recording.archive} {recording.recording_id}", cells)


def _number(value: int | str | None) -> float | None:
    return value if isinstance(value, int) else None
