"""Writer of counter histories: appends snapshots to a file.

    .arrows     Arrow IPC stream. Each snapshot is written and flushed at once: after a kill the file is readable up to
                the last whole snapshot.
    .parquet    Parquet. Smaller, but readable only after it was closed: its index is at its end.

Not here: the columns (`history_format`).
Invariant: memory is bounded: of rows that are not yet written (Parquet), and of texts that are stored once.
"""

from __future__ import annotations

import errno
from array import array
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from aeron_core.errors import ConfigurationError, StorageError
from aeron_core.observation.history_format import (
    details_text,
    driver_text,
    history_schema,
    imported_pyarrow,
)
from aeron_core.observation.snapshots import DriverSnapshot

ARROW_STREAM: Final = ".arrows"
PARQUET: Final = ".parquet"

# Invented. Rows of a row group of Parquet: about 10 MB of Python objects.
_GROUP_ROWS: Final = 16_384
# Invented. Texts and their bytes, after which a dictionary starts anew: streams come and go, and each has new labels.
_DICTIONARY_ENTRIES: Final = 16_384
_DICTIONARY_BYTES: Final = 4 * 1024 * 1024
_COMPRESSION: Final = "zstd"
_INT32_BITS: Final = 32


class _Dictionary:
    """Values that are stored once, by index."""

    def __init__(self) -> None:
        self.values: list[str | bytes] = []
        self._indexes: dict[str | bytes, int] = {}
        self._length = 0

    def index(self, value: str | bytes) -> int:
        """Return the index of a value, which is added if it is new."""
        index = self._indexes.get(value)
        if index is None:
            index = self._indexes[value] = len(self.values)
            self.values.append(value)
            self._length += len(value)
        return index

    def restart_if_long(self) -> None:
        """Forget all values if they are too many; only while no row with an index waits."""
        if len(self.values) > _DICTIONARY_ENTRIES or self._length > _DICTIONARY_BYTES:
            self.__init__()  # type: ignore[misc]


class CounterHistoryWriter:
    """Writes one history, from its creation until `close` or the end of the `with` block. One thread at a time."""

    def __init__(self, path: Path | str) -> None:
        """Create the file, which must not exist.

        Raises ConfigurationError for another ending than .arrows and .parquet, and if pyarrow is not installed;
        StorageError if the file exists or cannot be created.
        """
        self.path: Final = Path(path)
        #: Number of snapshots that were passed to `write`.
        self.snapshots = 0
        ending = self.path.suffix.lower()
        if ending not in (ARROW_STREAM, PARQUET):
            raise ConfigurationError(
                f"{self.path}: a history must end with {ARROW_STREAM} or {PARQUET}; choose {ARROW_STREAM} to read it "
                "while it is written"
            )
        self._pa: Any = imported_pyarrow(self.path)
        self._schema = history_schema()
        self._dictionaries = {name: _Dictionary() for name in ("label", "key", "details")}
        self._columns: dict[str, list[object]] = {name: [] for name in self._schema.names}
        self._is_stream = ending == ARROW_STREAM
        self._file = _created(self.path)
        self._writer: Any = self._new_writer()

    def _new_writer(self) -> object:
        if self._is_stream:
            options = self._pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression=_COMPRESSION)
            writer = self._pa.ipc.new_stream(self._file, self._schema, options=options)
            self._file.flush()
            return writer
        from pyarrow import parquet  # noqa: PLC0415 - optional

        return parquet.ParquetWriter(self._file, self._schema, compression=_COMPRESSION)

    def write(self, snapshot: DriverSnapshot) -> None:
        """Append a snapshot; raise OSError if the file cannot be written."""
        details = self._dictionaries["details"].index(details_text(snapshot))
        self._add(snapshot, details=details, driver=driver_text(snapshot.driver))
        for record in snapshot.counters:
            self._add(
                snapshot,
                counter_id=record.id,
                type_id=record.type_id,
                value=record.value,
                registration_id=record.registration_id,
                owner_id=record.owner_id,
                reference_id=record.reference_id,
                label=self._dictionaries["label"].index(record.label),
                key=self._dictionaries["key"].index(record.key),
            )
        self.snapshots += 1
        if self._is_stream or len(self._columns["time"]) >= _GROUP_ROWS:
            self._write_rows()

    def _add(self, snapshot: DriverSnapshot, **cells: object) -> None:
        cells |= {"time": snapshot.time_ns, "monotonic_ns": snapshot.monotonic_ns}
        for name, column in self._columns.items():
            column.append(cells.get(name))

    def _write_rows(self) -> None:
        arrays = [self._array(field) for field in self._schema]
        self._writer.write_batch(self._pa.record_batch(arrays, schema=self._schema))
        self._file.flush()
        for column in self._columns.values():
            column.clear()
        for dictionary in self._dictionaries.values():
            dictionary.restart_if_long()

    def _array(self, field: Any) -> object:
        column = self._columns[field.name]
        dictionary = self._dictionaries.get(field.name)
        if dictionary is not None:
            return self._pa.DictionaryArray.from_arrays(
                self._integers(column, field.type.index_type),
                self._texts(dictionary.values, field.type.value_type),
            )
        is_text = field.type == self._pa.utf8()
        return self._texts(column, field.type) if is_text else self._integers(column, field.type)

    # `pyarrow.array` imports pandas, if it is installed, which takes seconds: the buffers are made here.

    def _integers(self, values: list[Any], kind: Any) -> object:
        data = array("i" if kind.bit_width == _INT32_BITS else "q", (value or 0 for value in values))
        return self._array_of(kind, values, data)

    def _texts(self, values: list[Any], kind: Any) -> object:
        data = [value.encode() if isinstance(value, str) else value or b"" for value in values]
        offsets = array("i", accumulate(map(len, data), initial=0))
        return self._array_of(kind, values, offsets, b"".join(data))

    def _array_of(self, kind: Any, values: list[Any], *data: array[int] | bytes) -> object:
        validity = None
        if None in values:
            # One bit for each value, the lowest bit of a byte first.
            bits = "".join("01"[value is not None] for value in reversed(values))
            validity = self._pa.py_buffer(int(bits, 2).to_bytes((len(values) + 7) // 8, "little"))
        buffers = [validity, *map(self._pa.py_buffer, data)]
        return self._pa.Array.from_buffers(kind, len(values), buffers)

    def close(self) -> None:
        """Write the rest and close the file; raise OSError if it cannot be written. Later calls do nothing."""
        if self._file.closed:
            return
        try:
            if self._columns["time"]:
                self._write_rows()
            self._writer.close()
        finally:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _created(path: Path) -> BinaryIO:
    try:
        return path.open("xb")
    except FileExistsError as error:
        raise StorageError(
            errno.EEXIST, f"{path} exists: delete it, or choose another file for the history"
        ) from error
    except OSError as error:
        raise StorageError(
            error.errno, f"cannot create {path}: {error.strerror}: choose another path"
        ) from error
