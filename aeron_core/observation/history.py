"""Recorded counters: reads the snapshots of a history one after the other.

The functions for snapshots work on these as on those of a running driver. The format of the file is recognized by its
content. A history comes from elsewhere and may be damaged: whatever it contains, `snapshots` returns sound ones or
raises ProtocolError.
Not here: the columns (`history_format`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from aeron_core._native import wire
from aeron_core.concurrent.counters import NOT_FREE_TO_REUSE, CounterRecord
from aeron_core.errors import ProtocolError, StorageError
from aeron_core.observation.history_format import (
    VERSION,
    VERSION_KEY,
    details_of,
    driver_of,
    history_schema,
    imported_pyarrow,
)
from aeron_core.observation.snapshots import DriverSnapshot

_PARQUET_MAGIC: Final = b"PAR1"
# Invented: rows that are decoded at a time.
_BATCH_ROWS: Final = 16_384

_Row = tuple[Any, ...]


class CounterHistory:
    """A history of the counters of a driver; one thread at a time."""

    def __init__(self, path: Path | str) -> None:
        """Open nothing; raise ConfigurationError if pyarrow is not installed."""
        self.path: Final = Path(path)
        self._pa: Any = imported_pyarrow(self.path)
        #: Whether the file ends within a snapshot, because its recorder still runs or was killed; set by `snapshots`.
        self.is_cut = False
        #: Share of the file that `snapshots` has read, from 0 to 1.
        self.share_read = 0.0

    def snapshots(self) -> Iterator[DriverSnapshot]:
        """Yield the snapshots in the order of their times; each call starts anew.

        An Arrow stream without an end yields its whole snapshots, and `is_cut` is True then. Raises StorageError if the
        file cannot be opened, ProtocolError if it is no history, is damaged, or is a Parquet file that was not closed.
        """
        self.is_cut = False
        self.share_read = 0.0
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise StorageError(
                error.errno,
                f"cannot open {self.path}: {error.strerror}: name a file of `aeron-core stat --history`",
            ) from error
        with file:
            try:
                yield from self._snapshots(file)
            # The errors of Arrow derive from ValueError, OSError, KeyError, …: any of them may follow from damage.
            except (
                self._pa.ArrowException,
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                OSError,
                MemoryError,
                RecursionError,
            ) as error:
                if isinstance(error, ProtocolError):
                    raise
                raise ProtocolError(f"{self.path}: {_cause(error)}; record the counters anew") from error

    def _snapshots(self, file: Any) -> Iterator[DriverSnapshot]:
        is_parquet = file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
        file.seek(0)
        rows: list[_Row] = []
        last_ns: int | None = None
        for row in self._rows(self._parquet_batches(file) if is_parquet else self._stream_batches(file)):
            if row[_COUNTER_ID] is None and rows:
                last_ns = _later(rows, last_ns)
                yield _snapshot_of(rows)
                rows = []
            rows.append(row)
        if rows:
            _later(rows, last_ns)
            yield _snapshot_of(rows)

    def _rows(self, batches: Iterator[Any]) -> Iterator[_Row]:
        for batch in batches:
            # Indexes, offsets and UTF-8 in the file may be wrong, and are used without checks elsewhere.
            batch.validate(full=True)
            yield from zip(*(_cells(self._pa, column) for column in batch.columns), strict=True)

    def _parquet_batches(self, file: Any) -> Iterator[Any]:
        from pyarrow import parquet  # noqa: PLC0415 - optional

        table = parquet.ParquetFile(file)
        self._check(table.schema_arrow)
        count = 0
        for batch in table.iter_batches(_BATCH_ROWS):
            count += batch.num_rows
            self.share_read = min(count / max(table.metadata.num_rows, 1), 1.0)
            yield batch

    def _stream_batches(self, file: Any) -> Iterator[Any]:
        length = self.path.stat().st_size
        if length == 0:
            # Arrow writes the schema with the first snapshot.
            raise ProtocolError(f"{self.path}: is empty: wait until its recorder has written a snapshot")
        reader = self._pa.ipc.open_stream(file)
        self._check(reader.schema)
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except (self._pa.ArrowInvalid, OSError):
                # A message that ends beyond the file is the last one, which was not written to its end.
                if file.tell() < length:
                    raise
                self.is_cut = True
                return
            # A recorder may append meanwhile.
            self.share_read = min(file.tell() / length, 1.0)
            yield batch

    def _check(self, schema: Any) -> None:
        version = (schema.metadata or {}).get(VERSION_KEY)
        if version is None:
            raise ProtocolError(
                f"{self.path}: is no history of counters; name a file of `aeron-core stat --history`"
            )
        if version != VERSION or not schema.equals(history_schema()):
            text = version[:20].decode("ascii", "replace")
            raise ProtocolError(
                f"{self.path}: is a history of version {text!r} or with other columns: must be of version "
                f"{VERSION.decode()}; read it with the release that has written it"
            )


_COLUMNS: Final = (
    *(
        "time",
        "monotonic_ns",
        "counter_id",
        "type_id",
        "value",
        "registration_id",
        "owner_id",
        "reference_id",
    ),
    *("label", "key", "details", "driver"),
)
_TIME, _MONOTONIC, _COUNTER_ID = range(3)
_DETAILS, _DRIVER = _COLUMNS.index("details"), _COLUMNS.index("driver")


def _cells(pa: Any, column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.view(pa.int64())
    if pa.types.is_dictionary(column.type):
        # The dictionary of a long history is long, and a snapshot needs few of its values.
        indexes = column.indices.to_pylist()
        dictionary = column.dictionary
        values = {index: dictionary[index].as_py() for index in set(indexes) if index is not None}
        return [None if index is None else values[index] for index in indexes]
    return column.to_pylist()  # type: ignore[no-any-return]


def _later(rows: list[_Row], last_ns: int | None) -> int:
    """Return the time of a snapshot; raise ValueError unless it is later than the previous one."""
    time_ns: int = rows[0][_MONOTONIC]
    if last_ns is not None and not time_ns > last_ns:
        raise ValueError(f"snapshot at {time_ns} ns: must be later than the one before, at {last_ns} ns")
    return time_ns


def _snapshot_of(rows: list[_Row]) -> DriverSnapshot:
    """Return the snapshot of a driver's row and those of its counters; raise ValueError or TypeError if damaged."""
    head, *counters = rows
    if head[_COUNTER_ID] is not None or head[_TIME] is None or head[_MONOTONIC] is None:
        raise ValueError("a snapshot does not begin with the row of its driver")
    return DriverSnapshot(
        head[_TIME],
        head[_MONOTONIC],
        driver_of(head[_DRIVER]),
        tuple(map(_record_of, counters)),
        **details_of(head[_DETAILS]),
    )


def _record_of(row: _Row) -> CounterRecord:
    _, _, counter_id, type_id, value, registration_id, owner_id, reference_id, label, key, *_ = row
    if None in (type_id, value, registration_id, owner_id, reference_id, label, key):
        raise ValueError(f"counter {counter_id}: a column is null")
    return CounterRecord(
        counter_id,
        wire.COUNTER_STATE_ALLOCATED,
        type_id,
        NOT_FREE_TO_REUSE,
        key[: wire.COUNTER_KEY_MAX_LENGTH].ljust(wire.COUNTER_KEY_MAX_LENGTH, b"\0"),
        label,
        value,
        registration_id,
        owner_id,
        reference_id,
    )


def _cause(error: BaseException) -> str:
    """Return why a history cannot be read, in one line."""
    text = str(error)
    if "Parquet magic bytes not found in footer" in text or "Parquet file size is" in text:
        return "the Parquet file has no end: its recorder still runs or was killed"
    first = text.strip().partition("\n")[0][:200]
    return f"the history is damaged: {first or type(error).__name__}"
